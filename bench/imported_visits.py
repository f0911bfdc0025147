"""Import of the visits of a Shlink by `waypost import shlink --clicks`, to the end of the command.

This includes reading them over HTTP from a server on the same machine, enrichment, rows, counters and statistics, and
each commit reaches the disk. Nothing else runs.
"""

import asyncio
import json
import subprocess
import time
from pathlib import Path

from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import new_account
from bench.servers import ALL_CORES, SECRET_KEY, WAYPOST, clean_environment, free_port, module, started
from waypost.database import Database
from waypost.database.migrations import migrate

_SHORT_URLS = 1_000


def measure(run: Run) -> list[Row]:
    each = run.visits // _SHORT_URLS
    directory, port = run.new_directory(), free_port()
    command = module("shlink", str(port), str(_SHORT_URLS), str(each))
    with started("shlink", command, port=port, ready="/", cores=ALL_CORES, directory=directory):
        rows = [_row("SQLite", f"sqlite:///{directory / 'waypost.db'}", directory, port, each)]
        with postgres() as url:
            rows.append(_row("PostgreSQL", url, run.new_directory(), port, each))
    return rows


def _row(database: str, url: str, directory: Path, port: int, each: int) -> Row:
    count = each * _SHORT_URLS
    seconds = _import(url, directory, port, count)
    what = f"import of {count:,} visits of Shlink on {database}"
    detail = f"{_SHORT_URLS:,} links; {count / seconds:,.0f} visits/s"
    return measured(what, seconds, detail, " s")


def _import(url: str, directory: Path, port: int, count: int) -> float:
    asyncio.run(_prepare(url))
    token = directory / "token"
    token.write_text("token")
    command = [WAYPOST, "import", "shlink", "--account", "mover@example.com", "--clicks", "--json"]
    command += ["--url", f"http://127.0.0.1:{port}", "--token-file", str(token)]
    settings = {"database_url": url, "secret_key": SECRET_KEY, "outbound_allow": "127.0.0.0/8"}
    settings |= {"data_dir": str(directory / "data"), "base_url": "http://127.0.0.1:8000"}
    environment = clean_environment() | {f"WAYPOST_{name.upper()}": value for name, value in settings.items()}
    began = time.perf_counter()
    done = subprocess.run(
        ["taskset", "-c", ALL_CORES, *command], capture_output=True, text=True, check=False, env=environment
    )
    seconds = time.perf_counter() - began
    if done.returncode or json.loads(done.stdout)["clicks"] != count:
        raise Failed(f"{done.stdout[-500:]} {done.stderr[-1000:]}")
    return seconds


async def _prepare(url: str) -> None:
    db = Database(url)
    await migrate(db)
    await new_account(db, "mover")
    await db.close()
