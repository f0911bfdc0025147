"""A wheel with compiled redirects, as the release and the image build it. `make test-compiled` runs all their tests."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from architecture.code import ROOT

from waypost.version import VERSION

pytestmark = pytest.mark.timeout(300)

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "PYTEST_"))}
"""Of the developer: tests have no certificates."""
MODULES = [
    "aliases",
    "decision",
    "near",
    "pixel_pages",
    "responder",
    "route",
    "segment",
    "spool",
    "state",
    "table",
    "request",
]
TESTS = [f"tests/redirect/test_{name}.py" for name in ("protocol", "request", "table")]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("compiled")
    command = [Path(sys.executable).parent / "uv", "build", "--quiet", "--wheel", "--python", sys.executable]
    environment = ENVIRONMENT | {"COMPILE_REDIRECTS": "1", "UV_PYTHON_DOWNLOADS": "never"}
    subprocess.run([*command, "--out-dir", directory], cwd=ROOT, env=environment, check=True)
    [wheel] = directory.glob("*.whl")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.startswith(f"waypost-{VERSION}-{python}-{python}-linux_")
    with ZipFile(wheel) as files:
        files.extractall(directory)
    return directory


def run(unpacked: Path, *arguments: str) -> str:
    environment = ENVIRONMENT | {"PYTHONPATH": str(unpacked)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_runs_for_each_redirect_is_machine_code(unpacked: Path) -> None:
    program = "import sys, waypost.redirect.protocol; print(*(sys.modules[name].__file__ for name in sys.argv[1:]))"
    files = run(unpacked, "-c", program, *(f"waypost.redirect.{name}" for name in MODULES)).split()
    assert [Path(file).name.split(".")[0] for file in files] == MODULES
    assert {file for file in files if not (file.startswith(str(unpacked)) and file.endswith(".so"))} == set()
    assert "compiled redirects" in run(unpacked, "-c", "from waypost.cli import main; main()", "--version")


def test_it_answers_as_python_does(unpacked: Path) -> None:
    assert " passed" in run(unpacked, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS)


def test_a_checkout_has_no_machine_code() -> None:
    """It would hide changes of the source beside it."""
    assert list((ROOT / "src").rglob("*.so")) == []
