"""The package as its users have it: built, and installed from its file in an empty directory."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from architecture.code import ROOT
from python_client.conftest import proxy, service, website

from clients.typescript.generator.modules import NODE_MODULES

__all__ = ["proxy", "service", "website"]

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that `npm publish` would upload."""
    if not (NODE_MODULES / "typescript-7").exists():
        pytest.skip("typescript is missing: make test installs it")
    directory = tmp_path_factory.mktemp("package")
    environment = {**os.environ, "PATH": f"{NODE_MODULES.parents[1] / 'bin'}:{os.environ['PATH']}"}
    subprocess.run([ROOT / "scripts" / "build-typescript-client", directory], check=True, env=environment)
    [file] = directory.iterdir()
    return file


@pytest.fixture(scope="session")
def consumer(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the package is installed, with the programs of these tests."""
    directory = tmp_path_factory.mktemp("consumer").resolve()
    (directory / "package.json").write_text('{"private": true, "type": "module"}')
    options = ["--offline", "--no-audit", "--no-fund", "--loglevel", "error"]
    subprocess.run(["npm", "install", *options, package], cwd=directory, check=True, capture_output=True)
    assert [path.name for path in (directory / "node_modules").iterdir() if path.name[0] != "."] == ["@waypost"]
    for types in ("@types", "undici-types"):
        (directory / "node_modules" / types).symlink_to(NODE_MODULES / types)
    for program in HERE.glob("*.mjs"):
        shutil.copy(program, directory)
    return directory
