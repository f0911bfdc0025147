"""Imported clicks: with their times, once, and with the statistics that visits would have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from people import Person, new_person
from resources.imports.importing import Pages, link, new_deps, preview, run
from sqlalchemy import select

from waypost.audit import Actor
from waypost.database import Database, Tx
from waypost.resources import links
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore, schema
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.model import CRAWLER, HUMAN, Click, clicks
from waypost.resources.imports import click_pages, lease, service
from waypost.resources.imports.clickhouse_clicks import ClickHouseClickWriter
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import ClickPage, QuotaUsedUp, SourceClick, SourceError
from waypost.resources.links.model import imported_clicks, link_clicks

AT = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
)


def click(of: str, **fields: object) -> SourceClick:
    return SourceClick(of, **({"at": AT, "user_agent": CHROME} | fields))  # type: ignore[arg-type]


@dataclass
class OfLinks(Pages):
    clicks: Mapping[str, Sequence[Sequence[SourceClick]]] = field(default_factory=dict)

    async def clicks_of_link(self, source_id: str, cursor: str | None) -> ClickPage:
        pages = self.clicks.get(source_id, [[]])
        number = int(cursor or 0)
        return ClickPage(pages[number], str(number + 1) if number + 1 < len(pages) else None)


@dataclass
class Together(Pages):
    clicks: Sequence[Sequence[SourceClick]] = ()

    async def click_page(self, cursor: str | None) -> ClickPage:
        number = int(cursor or 0)
        return ClickPage(self.clicks[number], str(number + 1) if number + 1 < len(self.clicks) else None)


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


async def counted(db: Database) -> dict[str, int]:
    """Clicks of the counters, by slug."""
    async with db.read() as tx:
        rows = (await tx.execute(select(link_clicks.c.link_id, link_clicks.c.clicks))).all()
        names = await links.find_names(tx, None, [row.link_id for row in rows], shared_domain="go.test")
    return {names[row.link_id][0].partition("/")[2]: row.clicks for row in rows}


async def is_exact(db: Database) -> bool:
    store = SqlClickStore()
    return [found async for found in store.check(db, from_day=None, on_progress=None)] == []


async def test_imports_clicks_of_links_with_their_times(db: Database, alice: Person) -> None:
    equal = [click("a")] * 3
    source = OfLinks(
        [[link("a", clicks=6), link("b", clicks=0)], [link("c")]],
        clicks={
            "a": [
                [click("a", referrer="https://example.org/x?private"), *equal[:1]],
                [*equal[1:], click("a", at=AT - timedelta(days=3))],
            ],
            "b": [[click("b")]],
            "c": [
                [
                    click("c", is_bot=True),
                    click("c", user_agent=None, browser="Firefox", platform="Ubuntu", device="Mobile", country="fr"),
                ]
            ],
        },
    )
    report = await run(new_deps(db), alice, source, clicks=True)
    assert (report.counts.created, report.counts.clicks, report.warnings[1:]) == (3, 7, [])
    assert await counted(db) == {"a": 5, "b": 0, "c": 1}
    assert await is_exact(db)
    async with db.read() as tx:
        rows = (await tx.execute(select(clicks).order_by(clicks.c.created_at))).all()
        assert (await tx.execute(select(imported_clicks))).all() == []
    assert [row.created_at for row in rows] == [AT - timedelta(days=3), *[AT] * 6]
    assert sorted(row.kind for row in rows) == [CRAWLER, *[HUMAN] * 6]
    named = next(row for row in rows if row.browser == "Firefox")
    assert (named.platform, named.device, named.country) == ("Linux", "mobile", "FR")
    assert {row.referrer for row in rows} == {"", "https://example.org/x"}
    again = await run(new_deps(db), alice, source, clicks=True)
    assert (again.counts.clicks, again.counts.unchanged) == (0, 3)
    assert await counted(db) == {"a": 5, "b": 0, "c": 1}


async def test_imports_clicks_of_all_links_and_leaves_out_impossible_ones(db: Database, alice: Person) -> None:
    far = datetime(9999, 12, 31, tzinfo=UTC)
    source = Together(
        [[link("a"), link("bad", destination_url="x")]],
        clicks=[
            [click("a", source_id="1", ip="203.0.113.9"), click("a", source_id="2", ip="not an address")],
            [click("bad"), click("a", source_id="3", at=far), click("a", source_id="2", ip="not an address")],
        ],
    )
    report = await run(new_deps(db), alice, source, clicks=True)
    assert report.counts.clicks == 2
    assert report.warnings[1:] == [
        "Clicks of links that were not imported are left out",
        "Clicks of times before 1970 or in the future are left out",
    ]
    async with db.read() as tx:
        assert sorted(await tx.scalars(select(clicks.c.ip))) == ["", "203.0.113.9"]
    assert await is_exact(db)


@dataclass
class UsedUp(Together):
    """Its quota is used up after the first page, for as long as `is_used_up`."""

    is_used_up: bool = True

    async def click_page(self, cursor: str | None) -> ClickPage:
        if cursor and self.is_used_up:
            raise QuotaUsedUp("The quota is used up.")
        return await super().click_page(cursor)


async def test_stores_the_clicks_that_were_read_before_an_error(db: Database, alice: Person) -> None:
    """The next page is read while they are stored."""
    source = UsedUp([[link("a")]], clicks=[[click("a", source_id="1")], [click("a", source_id="2")]])
    with pytest.raises(QuotaUsedUp):
        await run(new_deps(db), alice, source, clicks=True)
    assert await counted(db) == {"a": 1}
    source.is_used_up = False
    report = await run(new_deps(db), alice, source, clicks=True)
    assert report.counts.clicks == 2
    assert await counted(db) == {"a": 2}
    assert await is_exact(db)


async def test_continues_amid_the_clicks_of_a_page(
    db: Database, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click_pages, "_CLICKS_PER_PAGE", 1)
    pages = {name: [[click(name)] * 2, [click(name)]] for name in "ab"}
    source = OfLinks([[link("a"), link("b")], [link("c")]], clicks=pages)
    deps = new_deps(db)
    import_ = await service.create(deps, Actor.system(alice.account_id), "dub", {"clicks": True})
    steps = 0
    while steps < 20:
        steps += 1
        one = ImportRun(deps, source, await service.get(deps.db, alice.account_id, import_.id), lease.holder())
        await one.start()
        if not await one.step():
            break
        await one.stop()
    await one.stop()
    assert steps > 5
    report = await service.get_report(deps.db, await service.get(deps.db, alice.account_id, import_.id))
    assert (report.counts.found, report.counts.created, report.counts.clicks) == (3, 3, 6)
    assert await counted(db) == {"a": 3, "b": 3, "c": 0}
    assert await is_exact(db)


async def test_totals_give_way_to_clicks(db: Database, alice: Person) -> None:
    source = OfLinks([[link("a", clicks=1)]], clicks={"a": [[click("a")]]})
    await run(new_deps(db), alice, source)
    async with db.read() as tx:
        assert await tx.scalar(select(imported_clicks.c.clicks)) == 1
    dry = await preview(new_deps(db), alice, replace(source, pages=[[link("new", clicks=5)]]), clicks=True)
    assert dry.counts.clicks == 5
    await run(new_deps(db), alice, source, clicks=True)
    async with db.read() as tx:
        assert await tx.scalar(select(imported_clicks.c.clicks)) == 0
    report = await run(new_deps(db), alice, Pages([[link("a", clicks=1)]]), clicks=True)
    assert "has no clicks with their times" in report.warnings[0]


async def test_an_endless_list_of_clicks_is_an_error(db: Database, alice: Person) -> None:
    class Endless(Together):
        async def click_page(self, cursor: str | None) -> ClickPage:
            return ClickPage([click("a")], "1")

    with pytest.raises(SourceError, match="no end"):
        await run(new_deps(db), alice, Endless([[link("a")]]), clicks=True)


async def test_stores_clicks_in_clickhouse_once(postgres_url: str, clickhouse: Any) -> None:
    db = Database(postgres_url)
    alice = await new_person(db, "alice")
    store = ClickHouseStore(ClickHouse(clickhouse.url))
    await schema.migrate(store.client)
    writer = ClickHouseClickWriter(store)
    source = Together(
        [[link("a"), link("b")]], clicks=[[click("a"), click("b")], [click("a"), click("b", is_bot=True)]]
    )

    class Killed(ClickHouseClickWriter):
        async def add(self, tx: Tx, new: Sequence[Click]) -> int:
            await super().add(tx, new)
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await run(new_deps(db, click_writer=Killed(store)), alice, source, clicks=True)
    report = await run(new_deps(db, click_writer=writer), alice, source, clicks=True)
    assert report.counts.clicks == 4
    assert (await run(new_deps(db, click_writer=writer), alice, source, clicks=True)).counts.clicks == 0
    assert await counted(db) == {"a": 2, "b": 1}
    assert [found async for found in store.check(db, from_day=None, on_progress=None)] == []
    assert await store.client.query("SELECT count() FROM clicks") == [(4,)]
    await store.close()
    await db.close()
