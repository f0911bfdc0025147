"""`waypost copy` from SQLite to PostgreSQL and back: links, clicks and statistics, with the comparison of all tables.

The command runs alone, on the same core as the load of other benchmarks; PostgreSQL has all cores.
"""

import asyncio
from pathlib import Path

from bench.click_store import new_click_store
from bench.command import Command, Finished
from bench.postgres import postgres
from bench.report import Row, measured
from bench.run import Run
from waypost.settings import PREFIX


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


def _copy(data_dir: Path, source: str, to: str) -> Finished:
    settings = {"DATA_DIR": str(data_dir), "DATABASE_URL": source, "SECRET_KEY": "k" * 32}
    environment = {f"{PREFIX}{name}": value for name, value in settings.items()}
    return Command("copy", "--to", to, environment=environment).finish()


def _row(what: str, done: Finished) -> Row:
    return measured(what, done.seconds, f"peak memory of the command: {done.mb:.0f} MB", " s")
