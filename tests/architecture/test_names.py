"""A name of a type means one thing in the whole package."""

import ast
import runpy

from architecture.code import ROOT, sources

TWICE = {"Deps"}
"""Each package has its own."""


def test_each_type_has_a_name_of_its_own() -> None:
    count = runpy.run_path(str(ROOT / "scripts" / "measure-code"))["type_names"]
    names = count(ast.parse(path.read_text()) for path in sources())
    assert {name for name, uses in names.items() if uses > 1} <= TWICE
