"""`waypost copy` from SQLite to PostgreSQL and back: links, clicks and statistics, with the comparison of all tables.

The command runs alone, on the same core as the load of other benchmarks; PostgreSQL has all cores.
"""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.click_store import new_click_store
from bench.postgres import postgres
from bench.report import Failed, Row, without_target
from bench.run import Run
from waypost.settings import PREFIX

_WAYPOST = Path(sys.executable).parent / "waypost"


def measure(run: Run) -> list[Row]:
    source, target = run.new_directory() / "waypost.db", run.new_directory() / "waypost.db"
    asyncio.run(new_click_store(f"sqlite:///{source}", count=run.visits, links=run.few))
    with postgres() as url:
        there = _copy(source.parent, f"sqlite:///{source}", url)
        back = _copy(source.parent, url, f"sqlite:///{target}")
    what = f"{run.few:,} links and {run.visits:,} clicks"
    return [
        _row(f"copy of {what} from SQLite to PostgreSQL", there),
        _row("the same from PostgreSQL to SQLite", back),
    ]


def _copy(data_dir: Path, source: str, to: str) -> tuple[float, float]:
    """Return (seconds, peak memory in MB)."""
    settings = {"DATA_DIR": str(data_dir), "DATABASE_URL": source, "SECRET_KEY": "k" * 32}
    environment = os.environ | {f"{PREFIX}{name}": value for name, value in settings.items()}
    began = time.monotonic()
    process = subprocess.Popen([_WAYPOST, "copy", "--to", to], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise Failed(f"waypost copy ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def _row(what: str, measured: tuple[float, float]) -> Row:
    seconds, memory = measured
    return without_target(what, f"{seconds:.0f} s", f"peak memory of the command: {memory:.0f} MB")
