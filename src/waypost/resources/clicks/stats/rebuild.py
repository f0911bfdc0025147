"""Rebuilds statistics from click rows while the service runs: corrects what differs, and leaves the rest alone.

Leaves days alone whose click rows retention has removed: their statistics are all that is left of them.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Row, Subquery, bindparam, func, select

from waypost.database import Database, Tx
from waypost.resources import links, qrcodes
from waypost.resources.clicks.days import find_days, find_kept_since, in_values
from waypost.resources.clicks.model import WHOLE_DAY, click_dimensions, click_totals, clicks, visitor_days
from waypost.resources.clicks.stats import store as stats_store
from waypost.resources.clicks.stats import top_values
from waypost.resources.clicks.stats.recount import Recount, recounts

_ROWS_AT_ONCE = 2_000
_TRIES = 5
_LINKS_AT_ONCE = 500

_T = click_totals.c
_SUMS = (
    select(_T.subject_id, func.sum(_T.clicks).label("clicks"), func.sum(_T.scans).label("scans"))
    .where(_T.quarter == WHOLE_DAY)
    .group_by(_T.subject_id)
)
_NEXT_ACCOUNT = (
    select(clicks.c.account_id)
    .where(clicks.c.day == bindparam("day"), clicks.c.account_id > bindparam("after"))
    .order_by(clicks.c.account_id)
    .limit(1)
)

Outcome = Literal["correct", "corrected", "changing"]
"""`changing`: clicks arrive faster than they are counted, so an error may remain."""

Correction = tuple[Recount, Sequence[Row[Any]]]
"""The statements, and the rows of their `difference`."""


@dataclass(frozen=True, slots=True)
class AccountDay:
    day: int
    account_id: UUID


@dataclass(slots=True)
class RebuildResult:
    days: int = 0
    account_days: int = 0
    corrected: int = 0
    """Of the account days, and days with orphans."""
    links: int = 0
    """Whose counters were set."""


async def rebuild(
    db: Database, *, from_day: int | None = None, on_progress: Callable[[int, int], None] | None = None
) -> RebuildResult:
    """`on_progress` gets the number of days done and of all days."""
    result = RebuildResult()
    changing: list[AccountDay] = []
    days = await _days(db, from_day)
    for day in days:
        if on_progress:
            on_progress(result.days, len(days))
        result.corrected += await delete_orphans(db, day)
        async for each in account_days(db, day):
            result.account_days += 1
            outcome = await recount(db, each)
            result.corrected += outcome != "correct"
            changing += [each] if outcome == "changing" else []
        result.days += 1
    for each in changing:
        if await recount(db, each) == "changing":
            await recount_in_one_transaction(db, each)
    if on_progress:
        on_progress(result.days, len(days))
    result.links = await count_links(db)
    return result


async def _days(db: Database, from_day: int | None) -> list[int]:
    """Days with clicks or statistics, except those whose clicks retention has removed."""
    async with db.read() as tx:
        first = max(from_day or 0, await find_kept_since(tx))
        tables = clicks, click_totals, click_dimensions, visitor_days
        return sorted({day for table in tables for day in await find_days(tx, table) if day >= first})


async def account_days(db: Database, day: int) -> AsyncIterator[AccountDay]:
    """Of all accounts with clicks on this day."""
    after = UUID(int=0)
    while True:
        async with db.read() as tx:
            account = await tx.scalar(_NEXT_ACCOUNT, {"day": day, "after": after})
        if account is None:
            return
        yield AccountDay(day, account)
        after = account


async def recount(db: Database, of: AccountDay) -> Outcome:
    """Counts without blocking other writers, then writes only what is wrong."""
    for _ in range(_TRIES):
        async with db.read() as tx:
            count, wrong = await _count(tx, of), await _corrections(tx, of)
        if not wrong:
            return "correct"
        if await correct_in_groups(db, of, count, wrong):
            return "corrected"
    return "changing"


async def recount_in_one_transaction(db: Database, of: AccountDay) -> None:
    """Other writers wait meanwhile: for the few days of accounts that never stop changing."""
    async with db.write() as tx:
        if await _may_write(tx, of.day):
            for correction in await _corrections(tx, of):
                await _correct(tx, of, correction)


async def delete_orphans(db: Database, day: int) -> bool:
    """Statistics of subjects without clicks on the day. There are none, unless somebody wrote to the tables."""
    async with db.read() as tx:
        found = [each for each in recounts(db.dialect) if (await tx.execute(each.find_orphans, {"day": day})).first()]
    if not found:
        return False
    async with db.write() as tx:
        if await _may_write(tx, day):
            for each in found:
                await tx.execute(each.delete_orphans, {"day": day})
            await top_values.clear_cache(tx)
    return True


async def correct_in_groups(db: Database, of: AccountDay, count: int, wrong: Sequence[Correction]) -> bool:
    """False when a click has arrived meanwhile: it was added to what was wrong, so everything is recounted."""
    for group in _groups(wrong):
        async with db.write() as tx:
            if not await _may_write(tx, of.day):
                return True
            if await _count(tx, of) != count:
                return False
            await _correct(tx, of, group)
    return True


def _groups(wrong: Sequence[Correction]) -> Iterator[Correction]:
    """Small enough that other writers do not wait long for a group's transaction."""
    for statements, rows in wrong:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            yield statements, rows[start : start + _ROWS_AT_ONCE]


async def _count(tx: Tx, of: AccountDay) -> int:
    count = select(func.count()).select_from(clicks)
    return (await tx.execute(count.where(clicks.c.day == of.day, clicks.c.account_id == of.account_id))).scalar_one()


async def _corrections(tx: Tx, of: AccountDay) -> list[Correction]:
    given = {"day": of.day, "account": of.account_id}
    found = [(each, (await tx.execute(each.difference, given)).all()) for each in recounts(tx.dialect.name)]
    return [(each, rows) for each, rows in found if rows]


async def _correct(tx: Tx, of: AccountDay, correction: Correction) -> None:
    statements, rows = correction
    await top_values.clear_cache_of(tx, of.account_id)
    await tx.exec_driver_sql(statements.delete, [tuple(row[: statements.key_length]) for row in rows])
    expected: list[tuple[Any, ...]] = [tuple(row[:-1]) for row in rows if row[-1]]
    if expected:
        await tx.exec_driver_sql(statements.insert, expected)


async def _may_write(tx: Tx, day: int) -> bool:
    """Nobody else adds clicks until the transaction ends, and retention has not reached this day meanwhile."""
    await stats_store.lock(tx)
    return day >= await find_kept_since(tx)


async def count_links(db: Database) -> int:
    """Returns the number of links whose counters were set."""
    async with db.read() as tx:
        sums = _sums_of_links()
        wrong_clicks = {*await links.find_wrong_clicks(tx, sums)}
        wrong_scans = {*await qrcodes.find_wrong_scans(tx, sums)}
    wrong = sorted(wrong_clicks | wrong_scans)
    for start in range(0, len(wrong), _LINKS_AT_ONCE):
        some = wrong[start : start + _LINKS_AT_ONCE]
        async with db.write() as tx:
            await stats_store.lock(tx)
            found = await _find_sums(tx, some)
            await links.set_clicks(tx, {id_: found.get(id_, (0, 0))[0] for id_ in some})
            await qrcodes.set_scans(tx, {id_: found.get(id_, (0, 0))[1] for id_ in some if id_ in wrong_scans})
    return len(wrong)


def _sums_of_links() -> Subquery:
    """(id, clicks, scans) of every link."""
    every, sums = links.SHORT_LINKS, _SUMS.subquery()
    zero_if_none = (func.coalesce(sums.c[name], 0).label(name) for name in ("clicks", "scans"))
    return select(every.c.id, *zero_if_none).outerjoin_from(every, sums, sums.c.subject_id == every.c.id).subquery()


async def _find_sums(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    """(clicks, scans) of links that have any."""
    days = await find_days(tx, click_totals)
    sums = _SUMS.where(_T.subject_id.in_(link_ids), in_values(tx, _T.day, days))
    return {row.subject_id: (int(row.clicks), int(row.scans)) for row in await tx.execute(sums)}
