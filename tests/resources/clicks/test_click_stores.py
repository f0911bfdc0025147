"""The same visits give the same numbers in every click store: statistics, lists and pages of clicks.

A few thousand visits; `CLICK_STORE_VISITS=1000000` of `make test-slow` has a million, with all time zones.
"""

import os
import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, product
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from people import START, FakeClock, new_person
from resources.clicks.visited import SHARED, fill_clickhouse, new_click, new_link, read_page, read_statistics
from resources.links.added import add_links

from waypost.database import Database
from waypost.kit.clock import DAY, microseconds, timestamp
from waypost.kit.pagination import PageRequest
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore, schema
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse, ResultRow
from waypost.resources.clicks.backends.clickhouse.upkeep import VisitorCounter
from waypost.resources.clicks.backends.sql import SqlClickStore, write
from waypost.resources.clicks.backends.sql.write import add
from waypost.resources.clicks.days import slice_between
from waypost.resources.clicks.model import KINDS, Click, Subject
from waypost.resources.clicks.stats.aggregate import Aggregate
from waypost.resources.clicks.stats.read import find_sparklines, find_top_links
from waypost.resources.clicks.store import ClickStore, ExportQuery

VISITS = int(os.environ.get("CLICK_STORE_VISITS", "3000"))
IS_LONG = VISITS > 100_000
DAYS = 40
LINKS = [UUID(int=number + 1) for number in range(12)]
ZONES = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Chatham")
INTERVALS = ("hour", "day", "week", "month")
REFERRERS = ("", "https://a.example/", "https://ä.example/x", "https://b.example/a%20b")


class PatientClickHouse(ClickHouse):
    """A million visits may take the tests' engine longer than somebody who reads a page would wait."""

    async def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        limit: float = LONG_TIMEOUT,
    ) -> Sequence[ResultRow]:
        return await super().query(sql, parameters, settings=settings, limit=limit)


@dataclass
class Filled:
    name: str
    db: Database
    store: ClickStore
    account: UUID


def some_visits(account: UUID, chance: random.Random) -> Iterator[Click]:
    """Visits of DAYS days, half of them on one link; visitors come again, also within the hour; some are bots."""
    links = [new_link(account, id=id_) for id_ in LINKS]
    span = timedelta(days=DAYS)
    for number in range(VISITS):
        at = START - span + span * (number / VISITS) + timedelta(microseconds=chance.randrange(1_000_000))
        link = links[0] if chance.random() < 0.5 else chance.choice(links)
        id_ = (microseconds(at) // 1000).to_bytes(6) + number.to_bytes(10)
        click = new_click(
            link, at, id=id_, visitor_id=at.toordinal() * 1_000_000 + chance.randrange(VISITS // DAYS // 2 + 1)
        )
        kind = chance.choices(KINDS, (12, 1, 1, 1))[0]
        click = click._replace(
            kind=kind,
            bot="Googlebot" if kind == "crawler" else None,
            is_scan=chance.random() < 0.2,
            country=chance.choice(["DE", "FR", "US", ""]),
            referrer=chance.choice(REFERRERS),
        )
        if chance.random() < 0.05:
            click = click._replace(referrer=f"https://site{chance.randrange(200)}.example/")
        yield click._replace(
            device=chance.choice(["mobile", "desktop", "tablet", "other"]),
            browser=chance.choice(["Chrome", "Firefox"]),
            platform=chance.choice(["Android", "iOS", ""]),
            target=chance.choice(["", "iPhone", "Grüße", "default"]) if link is links[0] else "",
        )


async def fill_sql(db: Database, visits: Sequence[Click]) -> None:
    async with db.write() as tx:
        await add(tx, visits)
        await write.lock(tx)
        await write.save(tx, Aggregate.of(visits))


@pytest.fixture
async def stores(
    sqlite_template: Path, postgres_url: str, clickhouse: Any, tmp_path: Path
) -> AsyncIterator[list[Filled]]:
    sqlite = Database(f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'waypost.db')}")
    postgresql, client = Database(postgres_url), PatientClickHouse(clickhouse.url)
    await schema.migrate(client)
    accounts = []
    for db in (sqlite, postgresql):
        accounts.append((await new_person(db, "Alice")).account_id)
        async with db.write() as tx:
            for id_ in LINKS:
                await add_links(tx, [new_link(accounts[-1], id=id_, slug=id_.hex)])
    chosen: list[tuple[str, Database, ClickStore, UUID]] = [
        ("sqlite", sqlite, SqlClickStore(), accounts[0]),
        ("postgresql", postgresql, SqlClickStore(), accounts[1]),
        ("clickhouse", postgresql, ClickHouseStore(client), accounts[1]),
    ]
    filled = [Filled(*parts) for parts in chosen]
    for place in filled:
        visits = some_visits(place.account, random.Random(7))
        while batch := [*islice(visits, 20_000)]:
            if isinstance(place.store, ClickHouseStore):
                await fill_clickhouse(place.db, place.store, batch)
            else:
                await fill_sql(place.db, batch)
    yield filled
    for db in (sqlite, postgresql):
        await db.close()
    await client.close()


def subjects(account: UUID) -> list[Subject]:
    return [Subject(account), Subject(account, LINKS[0]), Subject(account, LINKS[5]), Subject(account, UUID(int=99))]


def stats_queries(number: int) -> Iterator[dict[str, str]]:
    """Every interval in every time zone, and time ranges that begin and end at any moment."""
    odd = timestamp(START - timedelta(days=33, minutes=17, seconds=3)), timestamp(START - timedelta(days=2, minutes=8))
    ranges = [{}, {"from": odd[0], "to": odd[1]}, {"from": "2029-08-01"}, {"from": odd[1]}]
    pairs: Iterable[tuple[tuple[str, str], dict[str, str]]]
    if IS_LONG:
        pairs = product(product(INTERVALS, ZONES), ranges)
    else:  # each interval, zone and range, but not all of them together
        zones = (ZONES * 2)[number : number + len(INTERVALS)]
        pairs = zip(zip(INTERVALS, zones, strict=True), ranges[number:] + ranges[:number], strict=True)
    for (interval, zone), chosen in pairs:
        yield {"interval": interval, "timezone": zone, **chosen}


async def check_statistics_are_equal(stores: list[Filled]) -> None:
    """While all visitors are counted from the clicks, and once those of past days are counted."""
    now, counted = START + timedelta(minutes=5), 0
    sqlite, _, clickhouse = stores
    queries = [(number, query) for number in range(4) for query in stats_queries(number)]

    async def read(place: Filled) -> list[dict[str, Any]]:
        return [
            await read_statistics(place.db, place.store, subjects(place.account)[number], [*query.items()], now)
            for number, query in queries
        ]

    def assert_equal(place: Filled, found: list[dict[str, Any]]) -> None:
        for (number, query), stats, of_sqlite in zip(queries, found, expected, strict=True):
            differing = {name: (stats[name], of_sqlite[name]) for name in stats if stats[name] != of_sqlite[name]}
            assert not differing, (place.name, number, query)
            assert number == 3 or of_sqlite["clicks"]

    expected = await read(sqlite)
    for place in stores[1:]:
        assert_equal(place, await read(place))
    counter = VisitorCounter(clickhouse.db, cast("ClickHouseStore", clickhouse.store).client, clock=FakeClock())
    while await counter.step():
        counted += 1
    assert counted == DAYS
    assert_equal(clickhouse, await read(clickhouse))


async def check_lists_are_equal(stores: list[Filled]) -> None:
    now = START + timedelta(minutes=5)
    odd = {"from": timestamp(START - timedelta(days=20, minutes=17)), "to": timestamp(START - timedelta(days=2))}
    filters: list[dict[str, str]] = [
        {},
        {"kind": "all"},
        {"kind": "crawler"},
        {"country": "DE"},
        {"country": "unknown"},
        {"device": "tablet"},
        {"browser": "Firefox", "platform": "iOS"},
        {"referrer": REFERRERS[2]},
        {"referrer": "direct", "country": "FR", "kind": "all"},
    ]
    queries = [*product(range(3), filters, ({}, odd), (1, 3))]
    # a fifth of them has each filter, and each subject, range and page
    for number, query, chosen, page_number in queries if IS_LONG else queries[::5]:
        expected, *others = [
            await read_page(
                place.db,
                place.store,
                subjects(place.account)[number],
                [*query.items(), *chosen.items()],
                PageRequest(page_number, 50),
                now,
            )
            for place in stores
        ]
        assert others == [expected, expected], (number, query, chosen, page_number)
        assert expected["total"]


async def check_sparklines_are_equal(stores: list[Filled]) -> None:
    lines = [await find_sparklines(place.db, place.store, FakeClock(), place.account, LINKS, 14) for place in stores]
    assert lines[0] == lines[1] == lines[2]
    assert Counter(map(bool, map(sum, lines[0].values())))[True] == len(LINKS)
    by_clicks = sorted(LINKS, key=lambda id_: -sum(lines[0][id_]))
    for place in stores:
        assert await find_top_links(place.db, place.store, FakeClock(), place.account, LINKS, 14) == by_clicks


async def check_exported_statistics_are_equal(stores: list[Filled]) -> None:
    """Also of days whose clicks are about to be deleted, when ClickHouse has counted their visitors."""
    boundary = microseconds(START) // DAY - DAYS // 2
    exported: dict[str, list[Any]] = {}
    for filled in stores:
        exporter = filled.store.exporter(filled.db, ExportQuery(Subject(filled.account), kind=None), SHARED)
        if isinstance(filled.store, ClickHouseStore):
            counter = VisitorCounter(filled.db, filled.store.client, clock=FakeClock())
            while await counter.count_next(0, boundary):
                pass
        old = [each async for batch in exporter.read_expired(boundary) for each in batch]
        kept = [
            each
            for day in slice_between(None, None, [day for day in await exporter.find_days() if day >= boundary])
            for each in await exporter.count_by_link(day)
        ]
        exported[filled.name] = sorted(
            (each.day, str(each.link_id), list(each.totals), [*map(list, each.quarters)], sorted(each.values))
            for each in (*old, *kept)
        )
    first, *others = exported.values()
    assert len(first) > DAYS
    for other in others:
        assert other == first


async def test_every_store_gives_the_same_numbers(stores: list[Filled]) -> None:
    """In one test, because to fill the stores takes longer than to read them."""
    await check_statistics_are_equal(stores)
    await check_lists_are_equal(stores)
    await check_sparklines_are_equal(stores)
    await check_exported_statistics_are_equal(stores)
