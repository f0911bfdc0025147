"""Compares statistics in ClickHouse with the clicks, and rebuilds them, while the service runs."""
# ruff: noqa: S608  # these statements consist of constants and of ids

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import BigInteger, column, select, values

from waypost.database import Database, Id, Tx
from waypost.kit.clock import DAY, Clock, microseconds, now
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.clickhouse import recount
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse
from waypost.resources.clicks.backends.clickhouse.pause import paused
from waypost.resources.clicks.backends.clickhouse.visitor_counts import VisitorCounter
from waypost.resources.clicks.backends.sql.rebuild import (
    Difference,
    OnDay,
    RebuildResult,
    difference_of_day,
    difference_of_links,
)
from waypost.resources.clicks.days import find_kept_since

_LINKS_BATCH_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class WrongLinks:
    clicks: Collection[UUID]
    scans: Collection[UUID]
    sums: dict[UUID, tuple[int, int]]
    """(clicks, scans) of links that have any."""

    @property
    def all(self) -> set[UUID]:
        return {*self.clicks, *self.scans}


async def rebuild(
    db: Database,
    client: ClickHouse,
    *,
    from_day: int | None = None,
    on_progress: OnDay | None = None,
    clock: Clock = now,
) -> RebuildResult:
    """Call `on_progress` with the number of days done and of all days."""
    result = RebuildResult()
    days = await _find_days(db, client, from_day)
    for day in days:
        if on_progress:
            on_progress(result.days, len(days))
        result.corrected += await correct_day(db, client, day, clock=clock)
        result.days += 1
    async for batch in _link_batches(db):
        if (await _find_wrong_links(db, client, batch)).all:
            async with paused(db) as tx:
                wrong = await _find_wrong_links(db, client, batch)
                await links.set_clicks(tx, {id_: wrong.sums.get(id_, (0, 0))[0] for id_ in wrong.clicks})
                await qrcodes.set_scans(tx, {id_: wrong.sums.get(id_, (0, 0))[1] for id_ in wrong.scans})
            result.links += len(wrong.all)
    return result


async def correct_day(db: Database, client: ClickHouse, day: int, *, clock: Clock) -> bool:
    """Count a day again if its statistics differ from the clicks. Return whether they did."""
    if await recount.differs(client, day):
        async with paused(db) as tx:
            if await _really_differs(tx, client, day):
                today = microseconds(clock()) // DAY
                await recount.replace(client, VisitorCounter(db, client, clock=clock), day, today)
                return True
    return False


async def check(
    db: Database, client: ClickHouse, *, from_day: int | None = None, on_progress: OnDay | None = None
) -> AsyncIterator[Difference]:
    """Yield what differs. Changes nothing."""
    days = await _find_days(db, client, from_day)
    for number, day in enumerate(days):
        if on_progress:
            on_progress(number, len(days))
        if count := await recount.count_duplicates(client, day):
            yield _duplicates(day, count)
        if await recount.differs(client, day):
            async with paused(db) as tx:
                is_different = await _really_differs(tx, client, day)
            if is_different:
                yield difference_of_day(day)
    count = 0
    async for batch in _link_batches(db):
        if (await _find_wrong_links(db, client, batch)).all:
            async with paused(db):
                count += len((await _find_wrong_links(db, client, batch)).all)
    if count:
        yield difference_of_links(count)


def _duplicates(day: int, count: int) -> Difference:
    found = difference_of_day(day)
    advice = "OPTIMIZE TABLE clicks FINAL DEDUPLICATE BY account_id, day, link_id, created_at, id"
    return Difference(
        f"{found.text.partition(':')[0]}: {count} clicks are stored twice",
        f"{advice} in ClickHouse, then {found.command}",
    )


async def _find_days(db: Database, client: ClickHouse, from_day: int | None) -> list[int]:
    async with db.read() as tx:
        first = max(from_day or 0, await find_kept_since(tx))
    return await recount.find_days(client, first)


async def _really_differs(tx: Tx, client: ClickHouse, day: int) -> bool:
    """Compare again while no batch is being inserted, unless retention has reached the day."""
    return day >= await find_kept_since(tx) and await recount.differs(client, day)


async def _link_batches(db: Database) -> AsyncIterator[Sequence[UUID]]:
    id_, after = links.SHORT_LINKS.c.id, UUID(int=0)
    while True:
        async with db.read() as tx:
            batch = (await tx.scalars(select(id_).where(id_ > after).order_by(id_).limit(_LINKS_BATCH_SIZE))).all()
        if not batch:
            return
        yield batch
        after = batch[-1]


async def _find_wrong_links(db: Database, client: ClickHouse, link_ids: Sequence[UUID]) -> WrongLinks:
    ids = ", ".join(f"unhex('{id_.hex}')" for id_ in link_ids)
    rows = await client.query(
        f"SELECT subject_id, sum(clicks), sum(scans) FROM click_counts WHERE subject_id IN ({ids}) GROUP BY subject_id",
        limit=LONG_TIMEOUT,
    )
    sums = {UUID(bytes=id_): (clicks, scans) for id_, clicks, scans in rows}
    table = values(column("id", Id), column("clicks", BigInteger), column("scans", BigInteger), name="expected")
    expected = select(table.data([(id_, *sums.get(id_, (0, 0))) for id_ in link_ids])).subquery()
    async with db.read() as tx:
        return WrongLinks(
            await links.find_wrong_clicks(tx, expected), await qrcodes.find_wrong_scans(tx, expected), sums
        )
