"""The style sheets have nothing that no page uses."""

import re
from pathlib import Path

import pytest
from architecture.code import ROOT

SOURCE = ROOT / "src" / "waypost"
STATIC = SOURCE / "web" / "dashboard" / "static"
OF_OTHERS = re.compile(r"htmx-request|u-\w+|(dark|light)-mode|scalar-.+")
"""Made by scripts of others."""
PIECES = re.compile(r"level-\d|flags|brands")
"""Put together in a template, or named like a file of symbols."""


def names_in_pages() -> set[str]:
    """What is quoted in templates and scripts: values of attributes, and what expressions choose between."""
    files = [*SOURCE.rglob("*.html"), *STATIC.glob("*.js"), *SOURCE.rglob("dashboard/*.py")]
    quoted = re.findall(r"\"([^\"]*)\"|'([^'\n]*)'|`([^`]*)`", "\n".join(each.read_text() for each in files))
    return {name for texts in quoted for text in texts for name in re.findall(r"[\w-]+", text)}


@pytest.mark.parametrize("sheet", sorted(STATIC.glob("*.css")), ids=lambda path: path.name)
def test_each_class_and_id_is_used(sheet: Path) -> None:
    selectors = re.sub(r"/\*.*?\*/|\{[^{}]*\}", " ", sheet.read_text(), flags=re.DOTALL)
    names = set(re.findall(r"[.#]([a-zA-Z][\w-]*)", selectors))
    unused = {name for name in names - names_in_pages() if not (OF_OTHERS.fullmatch(name) or PIECES.fullmatch(name))}
    assert unused == set()
