"""`kill -9` during an import: run again, it continues, and nothing is doubled or missing."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from test_cli import Waypost, waypost

__all__ = ["waypost"]

ROWS = 4_000


def test_continues_after_kill(waypost: Waypost, tmp_path: Path) -> None:
    waypost("account", "create", "alice@example.com", "--plan", "lifetime")
    rows = "".join(f"https://example.com/{number},old.example/k{number}\n" for number in range(ROWS))
    file = tmp_path / "links.csv"
    file.write_text(f"Destination URL,Short link\n{rows}")
    arguments = ["import", "csv", "--account", "alice@example.com", "--file", str(file), "--json"]
    command = [sys.executable, "-c", "from waypost.cli import main; main()", *arguments]
    database = tmp_path / "data" / "waypost.db-wal"
    for size in (800_000, 1_600_000):
        killed = subprocess.Popen(command, cwd=waypost.directory, env=waypost.environment, stdout=subprocess.DEVNULL)
        while killed.poll() is None and not (database.exists() and database.stat().st_size > size):
            time.sleep(0.01)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        with closing(sqlite3.connect(tmp_path / "data" / "waypost.db")) as rows_:
            assert 0 < rows_.execute("SELECT count(*) FROM links").fetchone()[0] < ROWS
    report = waypost.json(*arguments[:-1])
    assert report["links"] == {"found": ROWS, "created": ROWS, "updated": 0, "unchanged": 0, "refused": 0}
    again = waypost.json(*arguments[:-1])
    assert again["links"] == {"found": ROWS, "created": 0, "updated": 0, "unchanged": ROWS, "refused": 0}
