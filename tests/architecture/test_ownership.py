"""Each package owns its tables: no module outside it imports them. Services do not depend on HTTP."""

import ast
from collections.abc import Iterator
from pathlib import Path

from architecture.code import PACKAGE, module_name, sources

SERVICES = {"service", "store", "rules"}


def package_of(module: str) -> str:
    """Of `waypost.resources.links.store` return `waypost.resources.links`, of `waypost.accounts.store` two parts."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1] == "resources" else 2])


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name), also of imports within functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def tables() -> dict[str, set[str]]:
    """By module, the names of its `Table` objects: those it defines and those it imports from such a module."""
    found: dict[str, set[str]] = {}
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and is_table(node.value):
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                found.setdefault(module_name(path), set()).update(names)
    for path in PACKAGE.rglob("__init__.py"):
        for module, name in imports(path):
            if name in found.get(module, ()):
                found.setdefault(module_name(path), set()).add(name)
    return found


def is_table(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Table"


def uses_of_foreign_tables() -> set[tuple[str, str, str]]:
    found, all_tables = set(), tables()
    for path in sources():
        user = module_name(path)
        tree = ast.parse(path.read_text())
        aliases = {}
        for module, name in imports(path):
            if name in all_tables.get(module, ()) and package_of(module) != package_of(user):
                found.add((user, module, name))
            aliases[name] = f"{module}.{name}"
        for node in ast.walk(tree):  # `domains.domains`, after `from waypost.resources import domains`
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = aliases.get(node.value.id, "")
                if node.attr in all_tables.get(module, ()) and package_of(module) != package_of(user):
                    found.add((user, module, node.attr))
    return found


def test_finds_tables() -> None:
    assert "links" in tables()["waypost.resources.links.model"]
    assert "accounts" in tables()["waypost.accounts.model"]


def test_no_package_uses_the_tables_of_another() -> None:
    assert not uses_of_foreign_tables()


def test_services_import_nothing_from_web() -> None:
    services = [path for path in sources() if path.stem in SERVICES and "web" not in path.relative_to(PACKAGE).parts]
    assert services
    found = {
        (module_name(path), module)
        for path in services
        for module, _ in imports(path)
        if module == "waypost.web" or module.startswith("waypost.web.")
    }
    assert not found
