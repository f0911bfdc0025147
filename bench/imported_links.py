"""Import of links from a CSV file by `waypost import csv`, and redirects while it runs.

The command is measured to its end, with each commit on the disk. Memory is compared with that of an import of a
hundredth of the links. The bytes of a link are what the database grows by meanwhile, with its indexes. Redirects are
under full load on the core that the command shares, so the import takes longer.
"""

import asyncio
import json
from pathlib import Path

from sqlalchemy import text

from bench import wrk
from bench.command import Command, Finished
from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import new_account
from bench.servers import ALL_CORES, SECRET_KEY, SERVER_CORE, waypost
from bench.wrk import Contender
from waypost.database import Database
from waypost.database.migrations import migrate

_MOVER = "mover@example.com"
_SIZES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


def measure(run: Run) -> list[Row]:
    rows = _rows(run, "SQLite", f"sqlite:///{run.new_directory() / 'waypost.db'}")
    with postgres() as url:
        rows += _rows(run, "PostgreSQL", url)
    return [*rows, _redirects(run)]


def _rows(run: Run, database: str, url: str) -> list[Row]:
    directory = run.new_directory()
    asyncio.run(_prepare(url))
    few = run.few // 100
    small = _finish(_import(url, directory, _write(directory / "small.csv", "s", few)), few)
    before = asyncio.run(_size(url))
    done = _finish(_import(url, directory, _write(directory / "large.csv", "l", run.few)), run.few)
    size = (asyncio.run(_size(url)) - before) / run.few
    what = f"import of {run.few:,} links from CSV on {database}"
    detail = f"{run.few / done.seconds:,.0f} links/s"
    return [
        measured(what, done.seconds, detail, " s"),
        measured(f"memory growth, {what}", done.mb - small.mb, f"peak {done.mb:.0f} MB", " MB"),
        measured(f"bytes for each link in {database}", size, f"{run.few:,} links", " bytes"),
    ]


def _redirects(run: Run) -> Row:
    store = run.copied_store(run.few)
    asyncio.run(_add_mover(store.url))
    directory = run.new_directory()
    with waypost(store, directory, routes_in_memory=run.few * 2 + 1_000) as server:
        wrk.warm_up(server.port, run.few)
        contender = Contender(server, "slugs.lua", [str(run.few), "browser"])
        [before] = wrk.alternate(run, [contender])
        importing = _import(store.url, directory, _write(directory / "l.csv", "r", run.few), SERVER_CORE)
        [during] = wrk.alternate(run, [contender])
        importing.kill()
    what = "p99 of redirects during an import, relative to before"
    ratio = wrk.p99(during) / wrk.p99(before)
    return measured(what, ratio, f"{wrk.p99(during):.2f} ms, before {wrk.p99(before):.2f} ms", " times")


def _write(file: Path, prefix: str, count: int) -> Path:
    with file.open("w") as out:
        out.write("Destination URL,Short link,Title,Tags,Created at\n")
        for number in range(count):
            out.write(
                f"https://example.com/articles/{prefix}/{number}?ref=mail,https://s.example/{prefix}{number},"
                f"Article {number} of the spring campaign,mail|spring {number % 50},"
                f"2024-01-{number % 28 + 1:02}T10:00:00Z\n"
            )
    return file


def _import(url: str, directory: Path, file: Path, cores: str = ALL_CORES) -> Command:
    settings = {"database_url": url, "secret_key": SECRET_KEY, "data_dir": str(directory / "data")}
    environment = {f"WAYPOST_{name.upper()}": value for name, value in settings.items()}
    environment["WAYPOST_BASE_URL"] = "http://127.0.0.1:8000"
    return Command(
        *("import", "csv", "--account", _MOVER, "--file", str(file), "--json"), environment=environment, cores=cores
    )


def _finish(importing: Command, count: int) -> Finished:
    done = importing.finish()
    if json.loads(done.output)["links"]["created"] != count:
        raise Failed(done.output[-1000:])
    return done


async def _size(url: str) -> int:
    db = Database(url)
    async with db.read() as tx:
        found = (await tx.execute(text(_SIZES[db.dialect]))).scalar_one()
    await db.close()
    return int(found)


async def _prepare(url: str) -> None:
    db = Database(url)
    await migrate(db)
    await db.close()
    await _add_mover(url)


async def _add_mover(url: str) -> None:
    db = Database(url)
    await new_account(db, "mover")
    await db.close()
