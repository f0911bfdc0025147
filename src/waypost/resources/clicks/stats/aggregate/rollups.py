"""Writes aggregates. Not by SQLAlchemy: each click causes some ten of these rows.

The database adds rows to what it has. Nothing is read first but visitors.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, Table

from waypost.database import Tx, bulk, take_advisory_lock
from waypost.resources.clicks.model import click_dimensions, click_totals, visitor_days
from waypost.resources.clicks.stats.aggregate.batch import Aggregate, StatsRow, VisitorKey

_HALF = 48
_MORNING = (1 << _HALF) - 1
_LOCK = 0x776179706F7374  # "waypost"


async def lock(tx: Tx) -> None:
    """One writer of statistics at a time: which visitors are new depends on what the writer before has committed.

    On SQLite every write is exclusive.
    """
    await take_advisory_lock(tx, _LOCK)


async def add(tx: Tx, aggregate: Aggregate) -> None:
    """The caller holds the lock. Rows come in the order of their keys: neighbours are written together."""
    visitors = aggregate.add_visitors(await _known(tx, aggregate.sorted_visitors))
    rows = [(*visitor, bits & _MORNING, bits >> _HALF) for visitor, bits in visitors.items()]
    await _merge(tx, visitor_days, rows)
    await _merge(tx, click_totals, aggregate.totals())
    await _merge(tx, click_dimensions, aggregate.dimensions())


async def _known(tx: Tx, visitors: Sequence[VisitorKey]) -> dict[VisitorKey, int]:
    rows = await bulk.find(tx, visitor_days, visitors)
    return {(day, visitor, subject): morning | afternoon << _HALF for day, visitor, subject, morning, afternoon in rows}


async def _merge(tx: Tx, table: Table, rows: Sequence[StatsRow]) -> None:
    await bulk.insert(tx, table, rows, on_conflict=_on_conflict(tx.dialect.name, table))


@lru_cache
def _on_conflict(dialect: str, table: Table) -> str:
    key = ", ".join(column.name for column in table.primary_key)
    merged = ", ".join(_merged(dialect, column) for column in table.c if not column.primary_key)
    return f"ON CONFLICT ({key}) DO UPDATE SET {merged}"


def _merged(dialect: str, column: Column[Any]) -> str:
    """The new value of a column of an existing row."""
    name = column.name
    old, new = f"{column.table.name}.{name}", f"excluded.{name}"
    if name in _BITS:
        return f"{name} = {old} | {new}"
    if name not in _TIMES:
        return f"{name} = {old} + {new}"
    if dialect == "postgresql":
        return f"{name} = {_TIMES[name][dialect]}({old}, {new})"
    return f"{name} = {_TIMES[name][dialect]}(ifnull({old}, {new}), ifnull({new}, {old}))"


_BITS = {"morning", "afternoon"}
_TIMES = {
    "first_at": {"sqlite": "min", "postgresql": "least"},
    "last_at": {"sqlite": "max", "postgresql": "greatest"},
}
