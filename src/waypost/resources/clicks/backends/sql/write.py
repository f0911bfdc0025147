"""Stores clicks, and merges sums of clicks into the tables of statistics.

Without SQLAlchemy: each click causes some ten rows of statistics. The database adds rows to what it has. Only visitors
are read first.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Table, select, type_coerce
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import NullType

from waypost.database import NamedRow, Tx, bulk, rows_with, take_advisory_lock
from waypost.kit.clock import QUARTER, microseconds
from waypost.resources.clicks.model import (
    MAX_LINK_ROWS,
    Click,
    click_dimensions,
    click_totals,
    clicks,
    visitor_days,
)
from waypost.resources.clicks.stats.aggregate import Aggregate, VisitorBits, VisitorKey

_NOT_STORED = {"at", "quarter", "pixels", "user_agent"}
COLUMNS: tuple[Column[Any], ...] = (
    clicks.c.created_at,
    *(clicks.c[name] for name in Click._fields if name not in _NOT_STORED),
)
"""The columns for `read_click`, in this order; more may follow in a row."""

RAW_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    type_coerce(column, NullType()).label(column.name) for column in COLUMNS
)
"""The same for `read_raw_click`: most of an export's time would go into objects that Click does not have."""

_COPY = f"COPY clicks ({', '.join(clicks.c.keys())}) FROM STDIN (FORMAT binary)"


def read_click(row: NamedRow[*tuple[Any, ...]]) -> Click:
    created_at, id_, account_id, link_id, *rest = row[: len(COLUMNS)]
    at = microseconds(created_at)
    return Click(id_.bytes, account_id.bytes, link_id.bytes, at, rest[0], at // QUARTER % 96, *rest[1:])


def read_raw_click(row: NamedRow[*tuple[Any, ...]]) -> Click:
    created_at, id_, account_id, link_id, day, kind, bot, is_scan, *rest = row[: len(COLUMNS)]
    if not isinstance(id_, bytes):  # PostgreSQL
        return read_click(row)
    quarter = created_at // QUARTER % 96
    return Click(id_, account_id, link_id, created_at, day, quarter, kind, bot, bool(is_scan), *rest)


Encoded = bytes | list[bulk.Statement]
"""Clicks as they are inserted: the data of COPY on PostgreSQL, otherwise statements."""


def encode(dialect: str, new: Sequence[Click]) -> Encoded:
    """Bypasses SQLAlchemy, because this is the busiest write of the service."""
    if dialect == "postgresql":
        return b"".join((_HEADER, *map(_binary_row, new), _END))
    return bulk.prepare_insert(dialect, clicks, list(map(_row, new)))


async def add(tx: Tx, new: Sequence[Click], encoded: Encoded | None = None) -> Sequence[Click]:
    """Insert clicks. Return those that were new: a removed segment can come back when a machine crashes.

    `encoded`: the same clicks, if they were encoded before the transaction. Looks for stored ids only after a conflict.
    """
    try:
        async with tx.begin_nested():
            await _insert(tx, encode(tx.dialect.name, new) if encoded is None else encoded)
    except _DuplicateId:
        new = await _without_stored(tx, new)
        await _insert(tx, encode(tx.dialect.name, new))
    return new


class _DuplicateId(Exception):
    """A click with one of these ids exists."""


async def _insert(tx: Tx, encoded: Encoded) -> None:
    if isinstance(encoded, bytes):
        await _copy(tx, encoded)
        return
    try:
        await bulk.execute(tx, encoded)
    except IntegrityError as error:
        raise _DuplicateId from error


async def _copy(tx: Tx, rows: bytes) -> None:
    from psycopg import Error  # noqa: PLC0415  # loaded already with PostgreSQL, and not needed otherwise
    from psycopg.errors import UniqueViolation  # noqa: PLC0415

    try:
        async with tx.connection.driver_connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            await copy.write(rows)
    except UniqueViolation:
        raise _DuplicateId from None
    except Error as error:
        if error.sqlstate is None:  # a connection error, without data
            raise
        raise type(error)(f"COPY clicks: {error.sqlstate}") from None  # its text can contain a row with an IP address


def _binary_row(click: Click) -> bytes:
    """Encode a row in the binary format of COPY, which takes half as long as its text; the driver would take longer."""
    id_, account, link, at, day, _, kind, bot, is_scan, ip, country, visitor, *_ = click
    return b"".join(
        (
            _pack_first(_COLUMN_COUNT, 16, id_, 16, account, 16, link, 4, day, 8, at - _YEAR_2000),
            _field(kind),
            _field(bot),
            _TRUE if is_scan else _FALSE,
            _new_field(ip),
            _field(country),
            _pack_visitor(8, visitor),
            *map(_field, (click.referrer, click.device, click.browser, click.platform, click.target)),
        )
    )


_COLUMN_COUNT = len(clicks.c)
_YEAR_2000 = 946_684_800_000_000  # PostgreSQL counts from there
_pack_first = Struct("!hi16si16si16siiiq").pack
_pack_visitor = Struct("!iq").pack
_FALSE, _TRUE = b"\0\0\0\1\0", b"\0\0\0\1\1"
_HEADER, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


def _new_field(value: str | None) -> bytes:
    if value is None:
        return b"\xff\xff\xff\xff"
    encoded = value.replace("\0", "").encode()
    return len(encoded).to_bytes(4) + encoded


_field = lru_cache(4_096)(_new_field)


async def _without_stored(tx: Tx, new: Sequence[Click]) -> list[Click]:
    by_id = {click.id: click for click in new}
    for stored in await rows_with(tx, select(clicks.c.id), clicks.c.id, (UUID(bytes=id_) for id_ in by_id)):
        del by_id[stored.id.bytes]
    return list(by_id.values())


_row = itemgetter(*map(Click._fields.index, ("id", "account_id", "link_id", "day", "at", *list(clicks.c.keys())[5:])))
"""Return the values of the columns in order. Runs in C."""


_MORNING_QUARTERS = 48
_MORNING_BITS = (1 << _MORNING_QUARTERS) - 1
LOCK = "waypost"  # of statistics: the name is the key of all versions
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

    sums: Aggregate
    dimensions: list[bulk.Statement]


def prepare(dialect: str, sums: Aggregate) -> Prepared:
    rows, on_conflict = sums.dimension_rows(), _on_conflict(dialect, click_dimensions)
    return Prepared(sums, bulk.prepare_insert(dialect, click_dimensions, rows, on_conflict=on_conflict))


async def save(tx: Tx, sums: Aggregate) -> None:
    """Merge the rows, in the order of their keys: neighbors are written together. Call `lock` first."""
    await save_prepared(tx, prepare(tx.dialect.name, sums))


async def save_prepared(tx: Tx, prepared: Prepared) -> None:
    found = await find_visitors(tx, prepared.sums)
    await bulk.execute(tx, [*count_visitors(tx.dialect.name, prepared.sums, found), *prepared.dimensions])


def count_visitors(dialect: str, sums: Aggregate, found: Found) -> list[bulk.Statement]:
    """Return the statements that depend on the visitors who were found."""
    changed = sums.add_visitors(found)
    visitors = [(*key, bits & _MORNING_BITS, bits >> _MORNING_QUARTERS) for *key, bits in changed]
    return [
        statement
        for table, rows in ((visitor_days, visitors), (click_totals, sums.totals_rows()))
        for statement in bulk.prepare_insert(dialect, table, rows, on_conflict=_on_conflict(dialect, table))
    ]


async def find_visitors(tx: Tx, sums: Aggregate) -> Found:
    """Return what `Aggregate.add_visitors` needs."""
    found = _by_visitor(await bulk.find_first(tx, visitor_days, sums.sorted_visitors, limit=MAX_LINK_ROWS + 1))
    with_account = [visitor for visitor, rows in found.items() if len(rows) > MAX_LINK_ROWS]
    if with_account:
        keys = {(*visitor, subject) for visitor in with_account for subject in sums.subjects_of(visitor)}
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
