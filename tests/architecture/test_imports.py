"""The import graph: what ARCHITECTURE.md draws is what import-linter holds, and the code keeps to it.

ARCHITECTURE.md draws each layers contract as a fenced block, one layer a line, the top layer first, siblings separated
by `|`. The block's info string is the second word of the contract's name: `layers`, `resources`.
"""

import re
import shutil
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
    return [frozenset(part.strip() for part in re.split(r"[|:]", line)) for line in block[1].splitlines()]


def held(name: str) -> Layers:
    layers = [re.split(r"[|:]", layer) for layer in LAYERS[name]["layers"]]
    return [frozenset(part.strip().strip("()").rpartition(".")[2] for part in layer) for layer in layers]


def modules(package: Path) -> set[str]:
    found = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    return found - {"__init__"}


WEB = {"waypost.web"}
LATE = {"dns", "cryptography", "PIL", "segno", "webauthn", "jwt", "jinja2", "markdown_it"}
"""Loaded with the first DNS lookup, secret, image, QR code, passkey, single sign-on, page and page of
the documentation."""
UNUSED = {
    "waypost.accounts.oidc.provider",
    "aiosmtplib",
    "maxminddb",
    "alembic",
    "psycopg",
    "sqlalchemy.orm",
    "rich.console",
    "prometheus_client",
    "pydantic.v1.main",
    "mcp",
}
"""Mail, PostgreSQL, single sign-on, AI assistants and other country data need a setting."""
UNUSED_BY_ROLE = {
    "redirect": {*WEB, *LATE, *UNUSED, "waypost.outbound", "waypost.visitors"},
    "worker": {*WEB, *LATE, *UNUSED, "uvicorn", "starlette", "ua_parser_rs"},
    "all": {*LATE, *UNUSED},
}
"""Modules that an idle process has not loaded."""
OPEN = """
import asyncio, sys, waypost.child, waypost.app
from contextlib import AsyncExitStack
from pathlib import Path
from waypost.settings import Settings

async def main(role, directory):
    settings = Settings(data_dir=Path(directory), secret_key="a key")
    async with AsyncExitStack() as stack:
        if role == "worker":
            import waypost.worker_process
            from waypost.worker_process import worker_parts
            from waypost.database import Database
            from waypost.redirect import ChangeFeed
            db = Database(settings.database)
            stack.push_async_callback(db.close)
            worker_parts(settings, db, ChangeFeed(settings.data_dir / "run" / "changes"), stack)
        else:
            import waypost.web_process
            await stack.enter_async_context(waypost.web_process.open_app(role, [])(settings))
        print(*sys.modules)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("role", UNUSED_BY_ROLE)
def test_a_process_loads_only_what_its_role_needs(role: str, sqlite_template: Path, tmp_path: Path) -> None:
    shutil.copy(sqlite_template, tmp_path / "waypost.db")
    command = [sys.executable, "-P", "-c", OPEN, role, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "waypost.app" in loaded
    assert loaded & UNUSED_BY_ROLE[role] == set()


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


def test_few_places_outside_name_a_resource() -> None:
    """Such as pixels. Packages that use them for what they do themselves don't count."""
    users = {"links", "clicks", "imports", "pixels"}
    places = [
        path
        for path in PACKAGE.rglob("*.py")
        if "waypost.resources.pixels" in path.read_text()
        and not users & set(path.relative_to(PACKAGE).parts[1:2])
        and path.relative_to(PACKAGE).parts[0] != "demo"
    ]
    assert len(places) <= 5, places  # and migration, layers, their drawing, facts, reference of the API
