"""SQL that merges sums of clicks into the tables of statistics.

Without SQLAlchemy: each click causes some ten of these rows. The database adds rows to what it has. Only visitors are
read first.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Column, Table

from waypost.database import Tx, bulk, take_advisory_lock
from waypost.resources.clicks.model import MAX_LINK_ROWS, click_dimensions, click_totals, visitor_days
from waypost.resources.clicks.stats.aggregate import Aggregate, VisitorBits, VisitorKey

_MORNING_QUARTERS = 48
_MORNING_BITS = (1 << _MORNING_QUARTERS) - 1
LOCK = "waypost"
_BIT_COLUMNS = {"morning", "afternoon"}
_TIME_COLUMNS = {
    "first_at": {"sqlite": "min", "postgresql": "least"},
    "last_at": {"sqlite": "max", "postgresql": "greatest"},
}


async def lock(tx: Tx) -> None:
    """Lock all statistics for changes until the transaction ends.

    Which visitors are new depends on what the writer before has committed. On SQLite every write is exclusive.
    """
    await take_advisory_lock(tx, LOCK)


Found = dict[VisitorKey, VisitorBits]
"""The stored rows of visitors."""


class Prepared(NamedTuple):
    """Sums to save, and what of that can be computed before the transaction."""

    counts: Aggregate
    dimensions: list[bulk.Statement]


def prepare(dialect: str, counts: Aggregate) -> Prepared:
    rows, on_conflict = counts.dimension_rows(), _on_conflict(dialect, click_dimensions)
    return Prepared(counts, bulk.prepare_insert(dialect, click_dimensions, rows, on_conflict=on_conflict))


async def save(tx: Tx, counts: Aggregate) -> None:
    """Merge the rows, in the order of their keys: neighbors are written together. Call `lock` first."""
    await save_prepared(tx, prepare(tx.dialect.name, counts))


async def save_prepared(tx: Tx, prepared: Prepared) -> None:
    found = await find_visitors(tx, prepared.counts)
    await bulk.execute(tx, [*count_visitors(tx.dialect.name, prepared.counts, found), *prepared.dimensions])


def count_visitors(dialect: str, counts: Aggregate, found: Found) -> list[bulk.Statement]:
    """Return the statements that depend on the visitors who were found."""
    changed = counts.add_visitors(found)
    visitors = [(*key, bits & _MORNING_BITS, bits >> _MORNING_QUARTERS) for *key, bits in changed]
    return [
        statement
        for table, rows in ((visitor_days, visitors), (click_totals, counts.totals_rows()))
        for statement in bulk.prepare_insert(dialect, table, rows, on_conflict=_on_conflict(dialect, table))
    ]


async def find_visitors(tx: Tx, counts: Aggregate) -> Found:
    """Return what `Aggregate.add_visitors` needs."""
    found = _by_visitor(await bulk.find_first(tx, visitor_days, counts.sorted_visitors, limit=MAX_LINK_ROWS + 1))
    with_account = [visitor for visitor, rows in found.items() if len(rows) > MAX_LINK_ROWS]
    if with_account:
        keys = {(*visitor, subject) for visitor in with_account for subject in counts.subjects_of(visitor)}
        found |= _by_visitor(await bulk.find(tx, visitor_days, sorted(keys)))
    return found


def _by_visitor(rows: Iterable[bulk.BulkRow]) -> Found:
    found: Found = {}
    for day, visitor, subject, morning, afternoon in rows:
        found.setdefault((day, visitor), {})[subject] = morning | afternoon << _MORNING_QUARTERS
    return found


@lru_cache
def _on_conflict(dialect: str, table: Table) -> str:
    key = ", ".join(column.name for column in table.primary_key)
    assignments = ", ".join(_assignment(dialect, column) for column in table.c if not column.primary_key)
    return f"ON CONFLICT ({key}) DO UPDATE SET {assignments}"


def _assignment(dialect: str, column: Column[Any]) -> str:
    """Return the SQL that updates a column of an existing row."""
    name = column.name
    old, new = f"{column.table.name}.{name}", f"excluded.{name}"
    if name in _BIT_COLUMNS:
        return f"{name} = {old} | {new}"
    if name not in _TIME_COLUMNS:
        return f"{name} = {old} + {new}"
    if dialect == "postgresql":
        return f"{name} = {_TIME_COLUMNS[name][dialect]}({old}, {new})"
    return f"{name} = {_TIME_COLUMNS[name][dialect]}(ifnull({old}, {new}), ifnull({new}, {old}))"
