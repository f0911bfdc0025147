"""A database after a year: ten million clicks on the links of twenty accounts, or of one, with their statistics.

Links appear during the year, and the clicks of each decay over weeks; few links get most of them. Clicks are written
directly as rows, because the drainer would take several times as long, and then aggregated.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import psycopg

from bench.aggregation import aggregate, cache_values
from bench.history import DAYS, History, Hit, new_history
from bench.seed import add_links, new_account, say
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import EPOCH
from waypost.resources.clicks.model import clicks

ACCOUNTS = 20
_COLUMNS = tuple(column.name for column in clicks.c if column.name != "target")  # no link has routing
_UUID_7 = 0x7000_8000_0000_0000_0000


@dataclass(frozen=True)
class ClickStore:
    url: str
    clicks: int
    account: UUID
    """The largest, with three tenths of all clicks."""
    link: UUID
    """The link with the most clicks."""
    link_clicks: int
    links: list[UUID]

    @property
    def database(self) -> str:
        return "SQLite" if self.url.startswith("sqlite") else "PostgreSQL"


async def new_click_store(
    url: str, *, count: int, links: int, accounts: int = ACCOUNTS, has_today: bool = False
) -> ClickStore:
    """The year ends yesterday, because benchmarks drain today's visits; or today, with all clicks of the day."""
    each, days = links // accounts, _year(has_today=has_today)
    owners, ids = await _links(url, each, accounts)
    history = new_history(Random(11), count=count, links=links, accounts=accounts)
    write = _write_sqlite if url.startswith("sqlite") else _write_postgres
    write(url, history, days, [owners[number // each] for number in range(links)], ids)
    say(f"{count:,} clicks stored")
    db = Database(url)
    await aggregate(db, days)
    await db.close()
    await cache_values(url)
    vacuum(url)
    say("… and aggregated")
    return ClickStore(url, count, owners[0], ids[history.busiest], history.clicks[history.busiest], ids)


async def _links(url: str, each: int, accounts: int) -> tuple[list[UUID], list[UUID]]:
    """(accounts, links): the links of an account are adjacent."""
    db, owners, links = Database(url), [], []
    await migrate(db)
    for number in range(accounts):
        owners.append(await new_account(db, f"stored-{number}"))
        links += await add_links(db, owners[-1], each, first=number * each)
    await db.close()
    return owners, links


def _write_sqlite(url: str, history: History, year: range, owners: list[UUID], links: list[UUID]) -> None:
    """Without durability: nothing has to survive a crash here."""
    keys = [(owner.bytes, link.bytes) for owner, link in zip(owners, links, strict=True)]
    insert = f"INSERT INTO clicks ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
    path = Path(url.removeprefix("sqlite:///"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -500000", "temp_store = memory"):
            connection.execute(f"PRAGMA {pragma}")
        indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE name LIKE 'ix_clicks_%'").fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        for day, hits in _days(history, year):
            connection.execute("BEGIN")
            connection.executemany(insert, _sqlite_rows(history, keys, day, hits))
            connection.execute("COMMIT")
        for _, sql in indexes:
            connection.execute(sql)
        counted = [(count, link.bytes) for count, link in zip(history.clicks, links, strict=True)]
        connection.execute("BEGIN")
        connection.executemany("UPDATE link_clicks SET clicks = ? WHERE link_id = ?", counted)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = wal")


def _sqlite_rows(
    history: History, keys: list[tuple[bytes, bytes]], day: int, hits: list[Hit]
) -> Iterator[tuple[Any, ...]]:
    midnight, visitors = day * 86_400_000_000, history.profiles
    for number, (moment, link, visitor) in enumerate(hits):
        at, (before, after) = midnight + moment, visitors[visitor % len(visitors)]
        id_ = ((at // 1000) << 80 | _UUID_7 | number).to_bytes(16, "big")
        yield id_, *keys[link], day, at, *before, visitor, *after


def _write_postgres(url: str, history: History, year: range, owners: list[UUID], links: list[UUID]) -> None:
    keys = [f"{owner}\t{link}" for owner, link in zip(owners, links, strict=True)]
    profiles = [("\t".join(map(_copied, before)), "\t".join(map(_copied, after))) for before, after in history.profiles]
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET maintenance_work_mem = '1GB'")
        indexes = cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix_clicks_%'")
        found = indexes.fetchall()
        for name, _ in found:
            cursor.execute(f"DROP INDEX {name}")
        for day, hits in _days(history, year):
            with cursor.copy(f"COPY clicks ({', '.join(_COLUMNS)}) FROM STDIN") as copy:
                copy.write("".join(_postgres_lines(profiles, keys, day, hits)))
        for _, sql in found:
            cursor.execute(sql)
        with connection.transaction():
            counted = [(count, link) for count, link in zip(history.clicks, links, strict=True)]
            cursor.executemany("UPDATE link_clicks SET clicks = %s WHERE link_id = %s", counted)


def _postgres_lines(profiles: list[tuple[str, str]], keys: list[str], day: int, hits: list[Hit]) -> Iterator[str]:
    milliseconds, date = day * 86_400_000, f"{EPOCH + timedelta(days=day):%Y-%m-%d}"
    for number, (moment, link, visitor) in enumerate(hits):
        before, after = profiles[visitor % len(profiles)]
        id_ = (milliseconds + moment // 1000) << 80 | _UUID_7 | number
        minutes, micros = divmod(moment, 60_000_000)
        at = f"{date} {minutes // 60:02}:{minutes % 60:02}:{micros / 1e6:09.6f}+00"
        yield f"{id_:032x}\t{keys[link]}\t{day}\t{at}\t{before}\t{visitor}\t{after}\n"


def vacuum(url: str) -> None:
    """PostgreSQL's planner needs statistics, which autovacuum would collect only later."""
    if not url.startswith("sqlite"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")


def _copied(value: object) -> str:
    return "\\N" if value is None else str(value)


def _days(history: History, year: range) -> Iterator[tuple[int, list[Hit]]]:
    for number, day in enumerate(year):
        yield day, history.hits(number)


def _year(*, has_today: bool) -> range:
    end = (datetime.now(UTC) - EPOCH).days + has_today
    return range(end - DAYS, end)
