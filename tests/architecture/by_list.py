"""Following a list of CONTRIBUTING.md in a copy of the package, and checking the copy."""

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from architecture.code import MIGRATIONS, PACKAGE, ROOT

VERSIONS = MIGRATIONS.relative_to(ROOT).as_posix() + "/"

Edits = Mapping[str, Sequence[tuple[str, str]]]
"""By file: a text in it, and what follows it then."""


def listed_files(heading: str) -> set[str]:
    """Return the files and folders of the source that the steps below the heading name."""
    return {*runpy.run_path(str(ROOT / "scripts" / "measure-code"))["listed_files"](heading)}


def edited_copy(root: Path, edits: Edits, files: Mapping[str, str]) -> None:
    """Copy the package to `root`, make the edits, and add the files."""
    shutil.copytree(PACKAGE, root / "src" / "waypost", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "docs").symlink_to(ROOT / "docs")
    for path, additions in edits.items():
        text = (root / path).read_text()
        for before, added in additions:
            assert text.count(before) == 1, (path, before)
            text = text.replace(before, before + added)
        (root / path).write_text(text)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def migration(name: str, upgrade: str) -> dict[str, str]:
    """Return the file of a migration after the newest one."""
    newest = max(int(path.name[:4]) for path in MIGRATIONS.glob("[0-9]*.py"))
    head = f'"""Add {name}."""\n\nimport sqlalchemy as sa\nfrom alembic import op\n\nfrom waypost.database import Id\n'
    numbers = f'revision = "{newest + 1:04}"\ndown_revision = "{newest:04}"\n'
    return {f"{VERSIONS}{newest + 1:04}_{name}.py": f"{head}\n{numbers}\n\ndef upgrade() -> None:\n    {upgrade}\n"}


def run_tests(root: Path, *files: str) -> None:
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    _run([*pytest, *(f"tests/architecture/{file}" for file in files)], ROOT, root)


def check_imports(root: Path) -> None:
    _run([str(Path(sys.executable).parent / "lint-imports"), "--no-cache"], root, root)


def _run(command: Sequence[str], directory: Path, root: Path) -> None:
    ran = subprocess.run(
        command,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
