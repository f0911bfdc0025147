"""The figures of one account and its links on one day: counted anew beside the drain, and put right where they differ.

Refuses the days whose rows retention has taken: their figures are all that is left of them.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Row, TextClause, bindparam, func, select

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

Outcome = Literal["right", "corrected", "moving"]
"""`moving`: clicks come faster than they can be counted; what was wrong is perhaps still."""

Correction = tuple[Recount, Sequence[Row[Any]]]
"""How, and the rows of its `difference`."""


@dataclass(frozen=True, slots=True)
class Piece:
    day: int
    account_id: UUID


async def pieces(db: Database, day: int) -> AsyncIterator[Piece]:
    """Of the accounts with clicks on this day."""
    after = UUID(int=0)
    while True:
        async with db.read() as tx:
            account = await tx.scalar(_NEXT_ACCOUNT, {"day": day, "after": after})
        if account is None:
            return
        yield Piece(day, account)
        after = account


async def recount(db: Database, piece: Piece) -> Outcome:
    """Counts without holding up anybody; then only what is wrong is written."""
    for _ in range(_TRIES):
        async with db.read() as tx:
            count, wrong = await _count(tx, piece), await _wrong(tx, piece)
        if not wrong:
            return "right"
        if await correct_in_groups(db, piece, count, wrong):
            return "corrected"
    return "moving"


async def recount_at_once(db: Database, piece: Piece) -> None:
    """Whatever comes waits meanwhile: for the few pieces that are never at rest."""
    async with db.write() as tx:
        if await _may_write(tx, piece.day):
            for correction in await _wrong(tx, piece):
                await _correct(tx, piece, correction)


async def clear_strays(db: Database, day: int) -> bool:
    """Figures of subjects that no click of the day is of. There are none, unless somebody wrote to the tables."""
    given = {"day": day}
    async with db.read() as tx:
        wrong = [each for each in recounts(db.dialect) if await _finds(tx, each.has_strays, given)]
    if not wrong:
        return False
    async with db.write() as tx:
        if await _may_write(tx, day):
            for each in wrong:
                await tx.execute(each.clear_strays, given)
            await top_values.forget(tx)
    return True


async def correct_in_groups(db: Database, piece: Piece, count: int, wrong: Sequence[Correction]) -> bool:
    """False when a click has come meanwhile: it was added to what was wrong, so all is looked at once more."""
    for group in _groups(wrong):
        async with db.write() as tx:
            if not await _may_write(tx, piece.day):
                return True
            if await _count(tx, piece) != count:
                return False
            await _correct(tx, piece, group)
    return True


def _groups(wrong: Sequence[Correction]) -> Iterator[Correction]:
    """Small enough that nobody waits long for the transaction that writes one."""
    for how, rows in wrong:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            yield how, rows[start : start + _ROWS_AT_ONCE]


async def _count(tx: Tx, piece: Piece) -> int:
    of_piece = clicks.c.day == piece.day, clicks.c.account_id == piece.account_id
    return (await tx.execute(select(func.count()).select_from(clicks).where(*of_piece))).scalar_one()


async def _wrong(tx: Tx, piece: Piece) -> list[Correction]:
    given = {"day": piece.day, "account": piece.account_id}
    found = [(each, (await tx.execute(each.difference, given)).all()) for each in recounts(tx.dialect.name)]
    return [(each, rows) for each, rows in found if rows]


async def _correct(tx: Tx, piece: Piece, correction: Correction) -> None:
    how, rows = correction
    await top_values.forget(tx, piece.account_id)
    await tx.exec_driver_sql(how.remove, [tuple(row[: how.key_length]) for row in rows])
    right: list[tuple[Any, ...]] = [tuple(row[:-1]) for row in rows if row[-1]]
    if right:
        await tx.exec_driver_sql(how.insert, right)


async def _may_write(tx: Tx, day: int) -> bool:
    """Nobody else adds clicks until the transaction ends, and retention has not come to this day meanwhile."""
    await rollups.lock(tx)
    return day >= await kept_since(tx)


async def _finds(tx: Tx, statement: TextClause, given: Mapping[str, object]) -> bool:
    return (await tx.execute(statement, given)).first() is not None
