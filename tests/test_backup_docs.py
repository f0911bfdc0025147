"""The commands of docs/operate/backup.md, run as they are printed: what was backed up is there after the restore."""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import forked
import pytest
from architecture.code import ROOT

from waypost.secret_key import with_secret_key
from waypost.settings import Settings

if TYPE_CHECKING:
    from conftest import PostgresServer

PAGE = (ROOT / "docs" / "operate" / "backup.md").read_text()
EMAIL = "ada@example.com"


def commands(*headings: str) -> str:
    """Return the first shell commands below the last heading; each heading follows the one before."""
    text = PAGE
    for heading in headings:
        text = text.partition(f"# {heading}\n")[2]
    found = re.search(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def run(text: str, env: dict[str, str], directory: Path) -> None:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], env=env, cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"


def create_account(env: dict[str, str], directory: Path) -> None:
    assert forked.run(["account", "create", EMAIL], cwd=directory, env=env).returncode == 0


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An installation with a secret key, and a directory for backups."""
    data = tmp_path / "waypost"
    with_secret_key(Settings(data_dir=data))
    (tmp_path / "backups").mkdir()
    path = f"{forked.WAYPOST.parent}:{os.environ['PATH']}"
    return {"PATH": path, "WAYPOST_DATA_DIR": str(data), "BACKUPS": str(tmp_path / "backups")}


def test_sqlite(env: dict[str, str], tmp_path: Path, sqlite_template: Path) -> None:
    data = tmp_path / "waypost"
    shutil.copy(sqlite_template, data / "waypost.db")
    create_account(env, tmp_path)
    key = (data / "secret.key").read_text()
    run(commands("SQLite"), env, tmp_path)
    run(commands("SQLite", "Restore"), env, tmp_path)
    with closing(sqlite3.connect(data / "waypost.db")) as restored:
        assert restored.execute("SELECT email FROM accounts").fetchall() == [(EMAIL,)]
    assert (data / "secret.key").read_text() == key
    run(commands("Test the restore"), env, tmp_path)
    assert not (tmp_path / "backups" / "test").exists()


@pytest.fixture
def restored_url(postgres: "PostgresServer") -> Iterator[str]:
    yield postgres.url("waypost_restored")
    postgres.sql("DROP DATABASE IF EXISTS waypost_restored WITH (FORCE)")


def test_postgresql(
    env: dict[str, str], tmp_path: Path, postgres: "PostgresServer", postgres_url: str, restored_url: str
) -> None:
    env |= {"WAYPOST_DATABASE_URL": postgres_url, "PGHOST": str(postgres.directory), "PGUSER": "postgres"}
    create_account(env, tmp_path)
    run(commands("PostgreSQL"), env, tmp_path)
    run(commands("PostgreSQL", "Restore"), env, tmp_path)
    assert postgres.sql("SELECT email FROM accounts", "waypost_restored") == [(EMAIL,)]
    run("waypost doctor", env | {"WAYPOST_DATABASE_URL": restored_url}, tmp_path)
