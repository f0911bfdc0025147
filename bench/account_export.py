"""The export of a large account with `waypost export all`, and its import into an empty SQLite database.

Memory is what the process has allocated at its peak, without the pages of the database that it maps.
"""

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from bench.click_store import new_click_store
from bench.report import Failed, Row, at_most, without_target
from bench.run import Run

_WAYPOST = Path(sys.executable).with_name("waypost")
_ACCOUNT = "stored-0@example.com"
_IMPORTED = "imported@example.com"


def measure(run: Run) -> list[Row]:
    old, new = run.new_directory(), run.new_directory()
    url = f"sqlite:///{old / 'waypost.db'}"
    asyncio.run(new_click_store(url, count=run.visits, links=run.few, accounts=1))
    file = old / "export.zip"
    seconds, megabytes = _waypost(old, "export", "all", "--account", _ACCOUNT, "--output", str(file))
    _waypost(new, "migrate")
    _waypost(new, "account", "create", _IMPORTED)
    import_seconds, import_megabytes = _waypost(new, "import", "waypost", "--account", _IMPORTED, "--file", str(file))
    sizes = f"{run.few:,} links, {run.visits:,} clicks"
    detail = f"{sizes}; SQLite; {file.stat().st_size / 1e6:,.0f} MB; peak memory {megabytes:,.0f} MB"
    return [
        at_most("export of an account", seconds, 60, detail, " s"),
        without_target(
            "import of that export", f"{import_seconds:,.0f} s", f"{sizes}; peak memory {import_megabytes:,.0f} MB"
        ),
    ]


def _waypost(directory: Path, *arguments: str) -> tuple[float, float]:
    """Return (seconds, megabytes at the peak)."""
    start, peak = time.monotonic(), [0.0]
    environment = os.environ | {"WAYPOST_DATA_DIR": str(directory)}
    process = subprocess.Popen(
        [_WAYPOST, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    watching = threading.Thread(target=_watch, args=(process, peak))
    watching.start()
    _, errors = process.communicate()
    watching.join()
    if process.returncode:
        raise Failed(errors)
    return time.monotonic() - start, peak[0]


def _watch(process: "subprocess.Popen[str]", peak: list[float]) -> None:
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        if found := re.search(r"RssAnon:\s+(\d+) kB", status):
            peak[0] = max(peak[0], int(found[1]) / 1_000)
        time.sleep(0.1)
