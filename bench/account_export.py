"""The export of a large account with `waypost export all`, and its import into an empty SQLite database."""

import asyncio
from pathlib import Path

from bench.click_store import new_click_store
from bench.command import Command, Finished
from bench.report import Row, measured
from bench.run import Run

_ACCOUNT = "stored-0@example.com"
_IMPORTED = "imported@example.com"


def measure(run: Run) -> list[Row]:
    old, new = run.new_directory(), run.new_directory()
    url = f"sqlite:///{old / 'waypost.db'}"
    asyncio.run(new_click_store(url, count=run.visits, links=run.few, accounts=1))
    file = old / "export.zip"
    exported = _waypost(old, "export", "all", "--account", _ACCOUNT, "--output", str(file))
    _waypost(new, "migrate")
    _waypost(new, "account", "create", _IMPORTED)
    imported = _waypost(new, "import", "waypost", "--account", _IMPORTED, "--file", str(file))
    sizes = f"{run.few:,} links, {run.visits:,} clicks"
    detail = f"{sizes}; SQLite; {file.stat().st_size / 1e6:,.0f} MB; peak memory {exported.mb:,.0f} MB"
    return [
        measured("export of an account", exported.seconds, detail, " s"),
        measured("import of that export", imported.seconds, f"{sizes}; peak memory {imported.mb:,.0f} MB", " s"),
    ]


def _waypost(directory: Path, *arguments: str) -> Finished:
    return Command(*arguments, environment={"WAYPOST_DATA_DIR": str(directory)}).finish()
