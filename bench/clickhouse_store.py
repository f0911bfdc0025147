"""Clicks in ClickHouse: how fast a worker stores them, what a stored click takes, and how long reading them takes.

The server is the engine itself (chdb) behind the tests' HTTP interface, on all cores, with PostgreSQL beside it. Two
fifths of the stored clicks belong to one account and one hundredth to one link, over the last 30 days. They are written
by the server; the visitors of past days are counted as the worker counts them. A page needs two or three round trips
to the HTTP interface, which is in Python and slower than a server's own.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.client import percentile
from bench.postgres import postgres
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import add_links, new_account, say
from bench.servers import on_all_cores, waypost
from bench.stats import response_times
from bench.visits import new_intake_settings, write_visits
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.kit.clock import DAY, microseconds, now
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore, schema
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.resources.clicks.backends.clickhouse.drain import ClickHouseDrainer
from waypost.resources.clicks.backends.clickhouse.upkeep import VisitorCounter
from waypost.worker.run import collect_garbage_rarely

_DAYS = 30
_LINKS = 5_000
"""Of each of the two accounts."""
_CHUNK = 1_000_000
_CALLS = 40
_TABLES = ("clicks", "click_counts", "click_dimensions", "visitor_counts")

_INSERT = """
INSERT INTO clicks (* EXCEPT (target)) SELECT account_id, toInt32(intDiv(at, 86400000000)), link_id,
  fromUnixTimestamp64Micro(at, 'UTC'),
  toFixedString(concat(substring(reverse(reinterpretAsString(toUInt64(intDiv(at, 1000)))), 3, 6),
    randomString(10)), 16),
  if(rand(1) % 20 = 0, 'crawler', 'human'), '', rand(2) % 50 = 0, '203.0.113.0',
  ['DE', 'US', 'FR', 'GB', 'IN', 'BR', 'JP', 'NL', 'ES', 'IT'][1 + toUInt32(pow(rand(3) / 4294967296, 2) * 10)],
  reinterpretAsInt64(cityHash64(intDiv(at, 86400000000), rand(4) % {visitors})),
  if(rand(5) % 20 = 0, concat('https://site', toString(rand(6) % 3000), '.example/'),
    ['', '', 'https://t.co/', 'https://www.google.com/', 'https://news.example/a'][1 + rand(7) % 5]),
  ['mobile', 'desktop', 'tablet'][1 + rand(8) % 3],
  ['Chrome', 'Safari', 'Firefox', 'Edge', 'Samsung Internet'][1 + rand(9) % 5],
  ['Android', 'iOS', 'Windows', 'macOS', 'Linux'][1 + rand(10) % 5], 'bench'
FROM (
  SELECT {start} + toInt64(number / {count} * {span}) AS at, rand(11) % 100 AS share, rand(12) / 4294967296 AS chance,
    toUInt32(multiIf(share < 1, 0, share < 40, 1 + pow(chance, 3) * {most},
      {links} + pow(chance, 3) * {links})) AS place
  FROM numbers({first}, {chunk})
) AS visit INNER JOIN bench_links ON visit.place = bench_links.place"""


@dataclass(frozen=True)
class Stored:
    postgres_url: str
    clickhouse_url: str
    clicks: int
    account: UUID
    link: UUID

    @property
    def url(self) -> str:
        return self.postgres_url


def measure(run: Run) -> list[Row]:
    directory = run.new_directory()
    with on_all_cores(), postgres() as postgres_url, _server(directory) as server:
        rows = [asyncio.run(_drained(run, postgres_url, _new_database(server, "drained")))]
        stored = asyncio.run(_filled(postgres_url, _new_database(server, "stored"), run.clickhouse_clicks))
        rows += asyncio.run(_sizes(stored))
        rows.append(asyncio.run(_round_trip(stored)))
        with waypost(stored, run.new_directory(), clickhouse_url=stored.clickhouse_url) as waypost_server:
            port = waypost_server.port
            for what, path in _requests(stored):
                times = asyncio.run(response_times(port, stored.url, stored.account, path, calls=_CALLS))
                rows.append(_row(what, times, stored))
    return rows


def _requests(stored: Stored) -> list[tuple[str, str]]:
    """(name of the row, path)"""
    in_zone = "interval=hour&timezone=Asia/Kolkata"
    link, account = f"/v1/links/{stored.link}", "/v1"
    busy, large = f"a link with {stored.clicks // 100:,} clicks", f"an account with {stored.clicks // 5 * 2:,} clicks"
    filtered = "country=US,DE&device=-tablet"
    days = min(_DAYS, _DAYS * 1_000_000 / (0.4 * stored.clicks))
    million = f"from={now() - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"
    return [
        (f"stats of {busy}", f"{link}/stats"),
        (f"filtered stats of {busy}", f"{link}/stats?{filtered}"),
        ("filtered stats of about a million clicks", f"{account}/stats?{filtered}&{million}"),
        (f"stats of {large}", f"{account}/stats"),
        (f"stats of {busy}, by hour in a half-hour time zone", f"{link}/stats?{in_zone}"),
        (f"stats of {large}, by hour in a half-hour time zone", f"{account}/stats?{in_zone}"),
        (f"newest page of clicks of {busy}", f"{link}/clicks"),
        (f"newest page of clicks of {large}", f"{account}/clicks"),
    ]


def _row(what: str, times: list[float], stored: Stored) -> Row:
    what, p95 = f"{what}, p95 on ClickHouse", percentile(times, 95)
    detail = f"{stored.clicks:,} clicks stored; p50 {percentile(times, 50):.1f} ms over {len(times)} calls"
    return measured(what, p95, detail, " ms")


@contextlib.contextmanager
def _server(directory: Path) -> Iterator[Any]:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from clickhouse.server import ClickHouseServer  # noqa: PLC0415  # of the tests

    server = ClickHouseServer(directory)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _new_database(server: Any, name: str) -> str:
    server.sql(f"CREATE DATABASE {name}")
    url: str = server.url(name)
    return url


async def _drained(run: Run, postgres_url: str, url: str) -> Row:
    db, client, spool = Database(postgres_url), ClickHouse(url), run.new_directory()
    await migrate(db)
    await schema.migrate(client)
    links = await add_links(db, await new_account(db, "visited"), 10_000)
    write_visits(spool, links, run.visits)
    collect_garbage_rarely()  # as a worker does
    settings = new_intake_settings()
    steps, has_more = list[float](), True
    drainer = ClickHouseDrainer(db, ClickHouseStore(client), spool, settings)
    while has_more:
        began = time.perf_counter()
        has_more = await drainer.step()
        steps.append(time.perf_counter() - began)
    ((count,),) = await client.query("SELECT count() FROM clicks")
    await client.close()
    await db.close()
    if count != run.visits:
        raise Failed(f"{count:,} of {run.visits:,} visits were drained")
    detail = f"{run.visits:,} visits of 10,000 links; longest batch {max(steps) * 1000:.0f} ms"
    return measured("drain rate into ClickHouse", count / sum(steps), detail, " clicks/s")


async def _filled(postgres_url: str, url: str, count: int) -> Stored:
    db, client = Database(postgres_url), ClickHouse(url)
    await schema.migrate(client)
    accounts = [await new_account(db, name) for name in ("large", "others")]
    links = [await add_links(db, account, _LINKS, first=20_000 + n * _LINKS) for n, account in enumerate(accounts)]
    await _add_link_ids(client, [(account, link) for account, ids in zip(accounts, links, strict=True) for link in ids])
    end = microseconds(now())
    for first in range(0, count, _CHUNK):
        numbers = {
            "first": first,
            "chunk": min(_CHUNK, count - first),
            "count": count,
            "start": end - _DAYS * DAY,
            "span": _DAYS * DAY,
            "links": _LINKS,
            "most": _LINKS - 1,
            "visitors": max(1, count // _DAYS // 2),
        }
        await client.command(_INSERT.format(**numbers))
        say(f"{first + numbers['chunk']:,} clicks stored")
    counter = VisitorCounter(db, client, clock=now)
    while await counter.step():
        pass
    await client.close()
    await db.close()
    return Stored(postgres_url, url, count, accounts[0], links[0][0])


async def _add_link_ids(client: ClickHouse, links: Sequence[tuple[UUID, UUID]]) -> None:
    await client.command(
        "CREATE TABLE bench_links (place UInt32, account_id FixedString(16), link_id FixedString(16)) ENGINE = Memory"
    )
    columns = {
        "place": ("UInt32", range(len(links))),
        "account_id": ("FixedString(16)", [account.bytes for account, _ in links]),
        "link_id": ("FixedString(16)", [link.bytes for _, link in links]),
    }
    await client.insert("bench_links", columns, token="links")


async def _round_trip(stored: Stored) -> Row:
    """What a page spends for each of its queries, whatever they read. A server's own interface is faster."""
    client, times = ClickHouse(stored.clickhouse_url), list[float]()
    for _ in range(_CALLS):
        began = time.perf_counter()
        await client.query("SELECT 1")
        times.append((time.perf_counter() - began) * 1000)
    await client.close()
    detail = f"the engine behind the tests' HTTP interface; p50 {percentile(times, 50):.1f} ms over {len(times)} calls"
    return measured("round trip to ClickHouse, p95", percentile(times, 95), detail, " ms")


async def _sizes(stored: Stored) -> list[Row]:
    client = ClickHouse(stored.clickhouse_url)
    for table in _TABLES:
        await client.command(f"OPTIMIZE TABLE {table} FINAL")
    sizes = await client.query(
        "SELECT table, sum(bytes_on_disk) AS size FROM system.parts"
        f" WHERE active AND database = currentDatabase() AND table IN {_TABLES} GROUP BY table ORDER BY size DESC"
    )
    await client.close()
    each = {table: size / stored.clicks for table, size in sizes}
    detail = ", ".join(f"{table} {size:.1f}" for table, size in each.items())
    name = f"bytes for each of {stored.clicks:,} clicks in ClickHouse, with statistics"
    return [measured(name, sum(each.values()), detail, " bytes")]
