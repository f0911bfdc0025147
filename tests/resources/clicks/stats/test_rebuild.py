"""Recounted statistics equal the aggregated ones, in whatever order clicks arrive: the two share no code."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import START
from sqlalchemy import Table, delete, insert, select, update

from waypost.database import Database, Tx
from waypost.kit.clock import EPOCH, microseconds
from waypost.kit.ids import new_id
from waypost.resources.clicks.backends.sql import rebuild as rebuilding
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.model import (
    KINDS,
    Click,
    click_dimensions,
    click_retention,
    click_totals,
    clicks,
    visitor_days,
)
from waypost.resources.clicks.stats.aggregate import Aggregate
from waypost.resources.links import add_clicks
from waypost.resources.links.model import link_clicks, links
from waypost.resources.qrcodes import add_scans
from waypost.resources.qrcodes.model import qr_scans
from waypost.worker.jobs import jobs

STATS_TABLES = (click_totals, click_dimensions, visitor_days)
DAY = 20_000
ACCOUNTS = [UUID(int=n) for n in (1, 2)]
LINKS = {UUID(int=10 + n): ACCOUNTS[n % 2] for n in range(4)}


def click(at: timedelta = timedelta(hours=12), link: UUID = UUID(int=10), **fields: Any) -> Click:  # noqa: B008
    created_at = EPOCH + timedelta(days=DAY) + at
    since = created_at - EPOCH
    fields["visitor_id"] = fields.get("visitor_id", 0) ^ LINKS[link].int  # to two accounts one is two visitors
    quarter = since % timedelta(days=1) // timedelta(minutes=15)
    ids = new_id().bytes, LINKS[link].bytes, link.bytes
    return Click(*ids, microseconds(created_at), since.days, quarter, **fields)


few = st.sampled_from
visits = st.builds(
    click,
    at=st.one_of(
        st.timedeltas(timedelta(days=-1), timedelta(days=2)),
        st.integers(0, 7).map(lambda n: n * timedelta(minutes=15)),  # where quarters meet
    ),
    link=few(sorted(LINKS)),
    kind=few([*KINDS, "human", "human", "human"]),
    is_scan=st.booleans(),
    visitor_id=few([-(2**63), -1, 0, 2**63 - 1]),
    country=few(["", "DE"]),
    referrer=few(["", "https://a.example/ü'%:x"]),
    browser=few(["Chrome", "Other"]),
    target=few(["", "", "default", "Grüße:x'%"]),
)


async def add(db: Database, new: Sequence[Click], *, batch: int = 3) -> None:
    """As the drain does: rows and statistics of one batch in one transaction."""
    for start in range(0, len(new), batch):
        some = new[start : start + batch]
        async with db.write() as tx:
            await write.lock(tx)
            await write.add(tx, some)
            await write.save(tx, Aggregate.of(some))
    async with db.write() as tx:
        humans = [each for each in new if each.kind == "human"]
        counted = Counter((each.link_id, LINKS[UUID(bytes=each.link_id)].bytes) for each in humans)
        await add_clicks(tx, [(*its, clicks) for its, clicks in counted.items()], last_at=0)
        await add_scans(tx, Counter(each.link_id for each in humans if each.is_scan))


async def contents(db: Database, tables: Sequence[Table] = STATS_TABLES) -> list[list[Any]]:
    async with db.read() as tx:
        return [sorted(map(tuple, await tx.execute(select(table))), key=repr) for table in tables]


async def counters(db: Database) -> dict[UUID, int]:
    async with db.read() as tx:
        return dict(map(tuple, await tx.execute(select(link_clicks.c.link_id, link_clicks.c.clicks))))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
async def _links(db: Database) -> None:
    from waypost.accounts.model import accounts

    times = {"created_at": START, "updated_at": START}
    async with db.write() as tx:
        for account in ACCOUNTS:
            rest = {"email": f"{account}@example.com", "name": "", "plan_type": "none"}
            await tx.execute(insert(accounts).values(id=account, **rest, **times))
        for link, account in LINKS.items():
            rest = {"slug": link.hex, "destination_url": "", "title": "", "search_text": "", "is_enabled": True}
            await tx.execute(insert(links).values(id=link, account_id=account, utm_params={}, tags=[], **rest, **times))
        await tx.execute(insert(link_clicks), counting(0))


def counting(number: int) -> list[dict[str, Any]]:
    return [{"link_id": link, "account_id": account, "clicks": number} for link, account in LINKS.items()]


async def empty(db: Database) -> None:
    async with db.write() as tx:
        for table in (clicks, *STATS_TABLES, link_clicks, qr_scans, click_retention, jobs):
            await tx.execute(delete(table))
        await tx.execute(insert(link_clicks), counting(0))


async def test_rebuilds_missing_rows_and_counters(db: Database) -> None:
    await add(db, [click(), click(visitor_id=7), click(timedelta(hours=13)), click(kind="crawler")])
    right = await contents(db)
    async with db.write() as tx:
        for table in (*STATS_TABLES, link_clicks):
            await tx.execute(delete(table))
        await tx.execute(insert(link_clicks), counting(99))
    progress: list[tuple[int, int]] = []
    done = await rebuild(db, on_progress=lambda *step: progress.append(step))
    assert await contents(db) == right
    assert (await counters(db))[UUID(int=10)] == 3
    assert (done.days, done.account_days, done.corrected, done.links) == (1, 1, 1, 4)
    assert progress == [(0, 1), (1, 1)]


@given(clicks=st.lists(visits, max_size=30))
@settings(
    max_examples=settings().max_examples // 6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_recounts_what_the_drain_aggregates(db: Database, clicks: list[Click]) -> None:
    await empty(db)
    await add(db, clicks)
    added_up, counted = await contents(db), await counters(db)
    assert (await rebuild(db)).corrected == 0
    async with db.write() as tx:
        for table in STATS_TABLES:
            await tx.execute(delete(table))
    await rebuild(db)
    assert await contents(db) == added_up
    assert await counters(db) == counted


@pytest.mark.parametrize("table", STATS_TABLES, ids=str)
async def test_corrects_wrong_rows(db: Database, table: Table) -> None:
    await add(db, [click(), click(timedelta(hours=20), visitor_id=5), click(link=UUID(int=11))])
    right = await contents(db)
    wrong = {click_totals: {"visitors": 3}, click_dimensions: {"clicks": 3}, visitor_days: {"morning": 1}}[table]
    async with db.write() as tx:
        await tx.execute(update(table).where(table.c.subject_id == UUID(int=10)).values(wrong))
    assert (await rebuild(db)).corrected == 1
    assert await contents(db) == right


async def test_deletes_orphans(db: Database) -> None:
    await add(db, [click(), click(timedelta(days=3))])
    right = await contents(db)
    async with db.write() as tx:
        stray, visitor = {"subject_id": UUID(int=99)}, {"visitor_id": 1, "subject_id": UUID(int=99)}
        for day in (DAY, DAY + 1):
            await tx.execute(insert(click_totals).values(day=day, quarter=0, clicks=1, **stray))
            await tx.execute(insert(click_dimensions).values(day=day, dimension=1, value="DE", clicks=1, **stray))
            await tx.execute(insert(visitor_days).values(day=day, morning=1, afternoon=0, **visitor))
        mine = {"visitor_id": 77, "subject_id": UUID(int=10), "morning": 1, "afternoon": 0}
        await tx.execute(insert(visitor_days).values(day=DAY, **mine))
    await rebuild(db)
    assert await contents(db) == right


async def test_from_day_leaves_earlier_days_alone(db: Database) -> None:
    await add(db, [click(), click(timedelta(days=1))])
    right = await contents(db)
    async with db.write() as tx:
        await tx.execute(update(click_totals).values(visitors=9))
    assert (await rebuild(db, from_day=DAY + 1)).corrected == 1
    [totals, _, _] = await contents(db)
    assert {each.visitors for each in [*await rows(db)] if each.day == DAY} == {9}
    assert totals != right[0]
    await rebuild(db)
    assert await contents(db) == right


async def rows(db: Database) -> Sequence[Any]:
    async with db.read() as tx:
        return (await tx.execute(select(click_totals))).all()


async def test_days_without_click_rows_stay_counted(db: Database) -> None:
    await add(db, [click(), click(timedelta(days=1))])
    before, counted = await contents(db), await counters(db)
    async with db.write() as tx:
        await tx.execute(insert(click_retention).values(id=1, kept_since=DAY + 1))
        await tx.execute(delete(clicks).where(clicks.c.day == DAY))
    done = await rebuild(db, from_day=DAY)
    assert (done.days, done.corrected, done.links) == (1, 0, 0)
    assert (await contents(db), await counters(db)) == (before, counted)


async def test_clicks_that_arrive_during_a_rebuild(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the comparison and the correction, of a visitor known before."""
    await add(db, [click(timedelta(minutes=15 * n), link) for n in range(3) for link in LINKS])
    async with db.write() as tx:
        for table in STATS_TABLES:
            await tx.execute(delete(table))
    may_write, late = rebuilding._may_write, iter(range(4, 60))

    async def drain_first(tx: Tx, day: int) -> bool:
        some = [click(timedelta(minutes=15 * next(late)))]
        await write.add(tx, some)
        await write.save(tx, Aggregate.of(some))
        return await may_write(tx, day)

    monkeypatch.setattr(rebuilding, "_may_write", drain_first)
    await rebuild(db)
    assert next(late) > 5
    monkeypatch.setattr(rebuilding, "_may_write", may_write)
    assert (await rebuild(db)).corrected == 0


async def test_an_empty_database(db: Database) -> None:
    progress: list[tuple[int, int]] = []
    assert (await rebuild(db, on_progress=lambda *step: progress.append(step))).days == 0
    assert progress == [(0, 0)]


async def test_counters_of_many_links_are_set_in_groups(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "_LINKS_BATCH_SIZE", 3)
    await add(db, [click(link=link) for link in LINKS])
    counted = await counters(db)
    async with db.write() as tx:
        await tx.execute(delete(link_clicks))
    assert (await rebuild(db)).links == 4
    assert await counters(db) == counted


async def test_missing_counters_are_created(db: Database) -> None:
    """Also those of links that nobody clicked: a list by clicks would not have them."""
    await add(db, [click()])
    counted = await counters(db)
    async with db.write() as tx:
        await tx.execute(delete(link_clicks))
    assert (await rebuild(db)).links == len(LINKS)
    assert await counters(db) == counted
