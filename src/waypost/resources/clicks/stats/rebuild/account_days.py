"""The statistics of one account and its links on one day: recounted beside the drain, and corrected where they differ.

Leaves days alone whose click rows retention has removed: their statistics are all that is left of them.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Row, bindparam, func, select

from waypost.database import Database, Tx
from waypost.resources.clicks.days import kept_since
from waypost.resources.clicks.model import clicks
from waypost.resources.clicks.stats.aggregate import rollups
from waypost.resources.clicks.stats.read import top_values
from waypost.resources.clicks.stats.rebuild.recount import Recount, recounts

_ROWS_AT_ONCE = 2_000
_TRIES = 5

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
    await rollups.lock(tx)
    return day >= await kept_since(tx)
