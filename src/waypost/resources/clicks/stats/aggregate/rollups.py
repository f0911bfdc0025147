"""Every statement that writes what is added up. Past SQLAlchemy: each click is followed by some ten of these rows.

Rows are handed to the database as they are, and it adds them to what it has: nothing is read first but visitors.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, Table

from waypost.database import Tx, bulk, take_advisory_lock
from waypost.resources.clicks.model import click_dimensions, click_totals, visitor_days
from waypost.resources.clicks.stats.aggregate.batch import Row, Tally, Visitor

_HALF = 48
_MORNING = (1 << _HALF) - 1
_LOCK = 0x776179706F7374  # "waypost"


async def lock(tx: Tx) -> None:
    """One writer of figures at a time: which visitors are new depends on what the one before has written.

    On SQLite every write is.
    """
    await take_advisory_lock(tx, _LOCK)


async def add(tx: Tx, tally: Tally) -> None:
    """The caller holds the lock. Rows come in the order of their keys: neighbours are written together."""
    visitors = tally.add_visitors(await _known(tx, tally.sorted_visitors))
    rows = [(*visitor, bits & _MORNING, bits >> _HALF) for visitor, bits in visitors.items()]
    await _merge(tx, visitor_days, rows)
    await _merge(tx, click_totals, tally.totals())
    await _merge(tx, click_dimensions, tally.dimensions())


async def _known(tx: Tx, visitors: Sequence[Visitor]) -> dict[Visitor, int]:
    rows = await bulk.find(tx, visitor_days, visitors)
    return {(day, visitor, subject): morning | afternoon << _HALF for day, visitor, subject, morning, afternoon in rows}


async def _merge(tx: Tx, table: Table, rows: Sequence[Row]) -> None:
    await bulk.insert(tx, table, rows, on_conflict=_merging(tx.dialect.name, table))


@lru_cache
def _merging(dialect: str, table: Table) -> str:
    key = ", ".join(column.name for column in table.primary_key)
    merged = ", ".join(_merged(dialect, column) for column in table.c if not column.primary_key)
    return f"ON CONFLICT ({key}) DO UPDATE SET {merged}"


def _merged(dialect: str, column: Column[Any]) -> str:
    """What becomes of a column when its row is there already."""
    name = column.name
    old, new = f"{column.table.name}.{name}", f"excluded.{name}"
    if name in _BITS:
        return f"{name} = {old} | {new}"
    if name not in _MOMENTS:
        return f"{name} = {old} + {new}"
    if dialect == "postgresql":
        return f"{name} = {_MOMENTS[name][dialect]}({old}, {new})"
    return f"{name} = {_MOMENTS[name][dialect]}(ifnull({old}, {new}), ifnull({new}, {old}))"


_BITS = {"morning", "afternoon"}
_MOMENTS = {
    "first_at": {"sqlite": "min", "postgresql": "least"},
    "last_at": {"sqlite": "max", "postgresql": "greatest"},
}
