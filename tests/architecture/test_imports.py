"""The import graph: what ARCHITECTURE.md draws is what import-linter holds, and the code keeps to it.

ARCHITECTURE.md draws each layers contract as a fenced block, one layer a line, the top layer first, siblings separated
by `|`. The block's info string is the second word of the contract's name: `layers`, `resources`.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from architecture.code import PACKAGE, ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = {contract["name"].split()[1].rstrip(":"): contract for contract in CONTRACTS if contract["type"] == "layers"}

Layers = list[frozenset[str]]


def drawn(name: str) -> Layers:
    block = re.search(rf"^```{name}\n(.*?)^```", (ROOT / "ARCHITECTURE.md").read_text(), re.DOTALL | re.MULTILINE)
    assert block, f"ARCHITECTURE.md has no block ```{name}"
    return [frozenset(part.strip() for part in line.split("|")) for line in block[1].splitlines()]


def held(name: str) -> Layers:
    layers = [re.split(r"[|:]", layer) for layer in LAYERS[name]["layers"]]
    return [frozenset(part.strip().strip("()").rpartition(".")[2] for part in layer) for layer in layers]


def modules(package: Path) -> set[str]:
    found = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    return found - {"__init__"}


WEB = {"fastapi", "jinja2", "PIL", "webauthn", "waypost.web"}
UNUSED_BY_ROLE = {
    "redirect_app": WEB | {"aiohttp", "aiosmtplib", "dns", "segno", "waypost.outbound", "alembic", "psycopg"},
    "worker_wiring": WEB | {"alembic", "psycopg"},
    "web_app": {"alembic", "psycopg", "webauthn"},
}
"""Modules by the composition of a role. `psycopg` is for PostgreSQL only."""


@pytest.mark.parametrize("composition", UNUSED_BY_ROLE)
def test_a_process_loads_only_what_its_role_needs(composition: str) -> None:
    code = f"import sys, waypost.child, waypost.app, waypost.{composition}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "waypost.app" in loaded
    assert loaded & (UNUSED_BY_ROLE[composition] | {"rich.console", "prometheus_client"}) == set()


def test_import_contracts_hold() -> None:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["layers", "resources"])
def test_what_is_drawn_is_held(name: str) -> None:
    assert drawn(name) == held(name)


@pytest.mark.parametrize(("name", "package"), [("layers", PACKAGE), ("resources", PACKAGE / "resources")])
def test_nothing_stands_outside(name: str, package: Path) -> None:
    assert modules(package) == frozenset().union(*held(name))
