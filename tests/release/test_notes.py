"""`scripts/release-notes`: tag, version and changelog agree, or nothing is released."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from architecture.code import ROOT

CHANGELOG = """# Changelog

Some words about it.

## Unreleased

## 0.2.0 - 2026-12-01

### Added

- Something new.

## 0.1.0 - 2026-11-01

- The first version.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "release-notes", tmp_path / "scripts")
    (tmp_path / "src" / "waypost").mkdir(parents=True)
    (tmp_path / "src" / "waypost" / "version.py").write_text('VERSION = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def notes(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, project / "scripts" / "release-notes", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["0.2.0", "v0.2.0"])
def test_prints_the_section_of_the_version(project: Path, name: str) -> None:
    done = notes(project, name)
    assert (done.stdout, done.stderr, done.returncode) == ("### Added\n\n- Something new.\n", "", 0)


@pytest.mark.parametrize(
    ("arguments", "replaced", "by", "message"),
    [
        (["v0.1.0"], "", "", "v0.1.0 is not the version of src/waypost/version.py, which is 0.2.0."),
        (["0.2.0"], "## 0.2.0 - 2026-12-01\n\n### Added\n\n- Something new.\n", "", "Expected: ## 0.2.0 - YYYY-MM-DD"),
        (["0.2.0"], " - 2026-12-01", "", "Expected: ## 0.2.0 - YYYY-MM-DD"),
        (["0.2.0"], "## Unreleased\n", "## Unreleased\n\n- One more.\n", "still has entries under Unreleased"),
        (["0.2.0"], "### Added\n\n- Something new.\n", "", "is empty"),
        ([], "", "", "Usage: scripts/release-notes VERSION"),
    ],
)
def test_refuses_what_does_not_agree(project: Path, arguments: list[str], replaced: str, by: str, message: str) -> None:
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace(replaced, by, 1))
    done = notes(project, *arguments)
    assert message in done.stderr
    assert (done.stdout, done.returncode) == ("", 1)
