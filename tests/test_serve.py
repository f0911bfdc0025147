"""`waypost serve` from nothing: what its first start prints works as printed, and is printed once."""

import json
import os
import re
import shlex
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from waypost.commands import serve
from waypost.kit.clock import microseconds, now
from waypost.kit.ids import new_id
from waypost.settings import Settings

WAYPOST = Path(sys.executable).parent / "waypost"


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def served(directory: Path, port: int) -> Iterator[str]:
    """What it prints on a terminal, from the greeting to the last line: then it is ready."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [WAYPOST, "serve", "--port", str(port), "--data-dir", "data"],
        cwd=directory,
        env={name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    lines: list[str] = []
    with open(ours) as terminal:  # a descriptor
        for line in terminal:
            lines.append(line)
            if "curl -i" in line or "Create another API key" in line:
                break
        try:
            yield "".join(lines)
        finally:
            process.terminate()
            assert process.wait(60) == 0


def run(line: str) -> str:
    return subprocess.run(shlex.split(line), capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_printed_commands_work(tmp_path: Path, port: int) -> None:
    with served(tmp_path, port) as first:
        create, follow = re.findall(r"^  (curl .*)$", first, re.MULTILINE)
        assert f"Waypost is ready at http://localhost:{port}\n" in first
        # Refused, because this machine's own addresses are not public; so key, plan, scope and body were understood.
        refused = json.loads(run(create.replace("https://example.com/", "http://127.0.0.1/")))
        assert list(refused["error"]["errors"]) == ["destination_url"]
        assert run(follow).startswith("HTTP/1.1 404 ")
    with served(tmp_path, port) as again:
        pass
    assert f"Waypost is ready at http://localhost:{port}\n" in again
    assert "wp_live_" not in again
    assert (first.count(f"http://localhost:{port}/enter/"), again.count("/enter/")) == (1, 0)
    assert not (tmp_path / "data" / "first-start.txt").exists()


def test_warns_if_the_clock_is_behind_the_newest_row(
    tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path, created = tmp_path / "waypost.db", now()
    path.write_bytes(sqlite_template.read_bytes())
    row = (new_id().bytes, "a@example.com", "A", "none", microseconds(created), microseconds(created))
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = "id, email, name, plan_type, created_at, updated_at"
        connection.execute(f"INSERT INTO accounts ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)
    for hours, lines in ((0.9, 0), (30.1, 1)):
        monkeypatch.setattr(serve, "now", lambda hours=hours: created - timedelta(hours=hours))
        serve._warn_if_clock_is_behind(Settings(data_dir=tmp_path))
        shown = capfd.readouterr().err
        assert shown.count('event="clock is behind the newest stored row" process=parent hours=30') == lines
        assert shown.count("\n") == lines


def test_recognizes_a_current_schema_in_any_directory(tmp_path: Path, sqlite_template: Path) -> None:
    settings = Settings(data_dir=tmp_path / "50% of #1")
    assert not serve._is_known_current(settings)
    settings.data_dir.mkdir()
    (settings.data_dir / "waypost.db").write_bytes(sqlite_template.read_bytes())
    assert serve._is_known_current(settings)
