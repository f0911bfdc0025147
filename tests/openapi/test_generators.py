"""What others make of the OpenAPI document: a linter finds nothing, and generated clients import and have types."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openapi_python_client", reason="openapi_python_client is missing: make test installs it")

from docs_site import api_pages

HERE = Path(__file__).parent
TOOLS = Path(sys.executable).parent
NODE_TOOLS = TOOLS.parent / "node" / "node_modules" / ".bin"
IMPORT_ALL = """
import importlib, pkgutil, waypost_generated
modules = [each.name for each in pkgutil.walk_packages(waypost_generated.__path__, "waypost_generated.")]
for module in modules:
    importlib.import_module(module)
print(len(modules))
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("openapi") / "openapi.json"
    path.write_text(json.dumps(api_pages.openapi()))
    return path


def run(*command: str | Path, cwd: Path) -> str:
    environment = os.environ | {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_spectral_finds_nothing(document: Path) -> None:
    run(
        NODE_TOOLS / "spectral",
        "lint",
        "--ruleset",
        HERE / "spectral.yaml",
        "--fail-severity",
        "hint",
        document,
        cwd=document.parent,
    )


def test_the_client_for_python_imports_and_has_types(document: Path) -> None:
    package, directory = "waypost_generated", document.parent
    command = "openapi-python-client", "generate", "--path", document, "--meta", "none", "--output-path", package
    said = run(TOOLS / command[0], *command[1:], cwd=directory)
    warnings = [line for line in said.splitlines() if line.startswith(("WARNING", "ERROR"))]
    files = "GET /api/v1/qrcodes/{id}/image/{format}", "POST /api/v1/qrcodes/archive", "POST /api/v1/qrcodes/sheet"
    assert warnings == [f"WARNING parsing {each} within qrcodes." for each in files], said
    # the generator does not import this for a body of two kinds, unless something else is optional, too
    upsert = directory / package / "api" / "links" / "links_upsert.py"
    upsert.write_text(upsert.read_text().replace("import UNSET, Response\n", "import UNSET, Response, Unset\n"))
    assert int(run(sys.executable, "-W", "error", "-c", IMPORT_ALL, cwd=directory)) > 100
    run(TOOLS / "mypy", "--config-file", HERE / "mypy.ini", package, cwd=directory)


def test_the_types_for_typescript_compile(document: Path) -> None:
    run(NODE_TOOLS / "openapi-typescript", document, "--output", "waypost.d.ts", cwd=document.parent)
    use = document.parent / "use.ts"
    use.write_text(
        'import type { components, operations } from "./waypost";\n'
        'const created: components["schemas"]["LinkCreate"] = { destination_url: "https://example.com/" };\n'
        'const status: components["schemas"]["Link"]["status"] = "active";\n'
        'const event: components["schemas"]["LinkClickedEvent"]["event"] = "link.clicked";\n'
        'type Body = operations["links_create"]["requestBody"]["content"]["application/json"];\n'
        "export const body: Body = created;\nexport const all = [status, event];\n"
    )
    run(NODE_TOOLS / "tsc", "--strict", "--noEmit", use, cwd=document.parent)
