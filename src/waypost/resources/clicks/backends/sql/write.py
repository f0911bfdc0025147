"""Stores clicks and spool positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from struct import Struct
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Row, delete, select, type_coerce, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import NullType

from waypost.database import Tx, bulk, upsert
from waypost.kit.clock import QUARTER, microseconds
from waypost.resources.clicks.model import Click, clicks, spool_positions

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
_MAX_PARAMETERS = 500  # per statement


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """The bytes of a segment that one batch drains."""

    segment: str
    start: int
    end: int


async def find_positions(tx: Tx, segments: Sequence[str]) -> dict[str, int]:
    rows = await tx.execute(select(spool_positions).where(spool_positions.c.segment.in_(segments)))
    return {row.segment: row.position for row in rows}


async def advance(tx: Tx, drained: SegmentRange) -> bool:
    """Move the segment's position. Return False if it is not the start of this range: another drainer was first."""
    statement = upsert(tx, spool_positions).values(segment=drained.segment, position=drained.end)
    result = await tx.execute(
        statement.on_conflict_do_update(
            index_elements=["segment"],
            set_={"position": drained.end},
            where=spool_positions.c.position == drained.start,
        ).returning(spool_positions.c.position)
    )
    return result.one_or_none() is not None


async def find_pending(tx: Tx, segments: Sequence[str]) -> dict[str, list[SegmentRange]]:
    """Return the ranges of each batch that was being inserted into ClickHouse, by its token.

    With several drainers there can be several. Together they would be a batch that ClickHouse does not know.
    """
    is_pending = spool_positions.c.segment.in_(segments), spool_positions.c.pending_token.is_not(None)
    pending: dict[str, list[SegmentRange]] = {}
    for row in await tx.execute(select(spool_positions).where(*is_pending).order_by(spool_positions.c.segment)):
        pending.setdefault(row.pending_token, []).append(SegmentRange(row.segment, row.position, row.pending_end))
    return pending


async def begin(tx: Tx, pending: SegmentRange, token: str) -> bool:
    """Record a range of a batch before it is sent. Return False if another drainer was first."""
    marks = {"pending_end": pending.end, "pending_token": token}
    row = {"segment": pending.segment, "position": pending.start, **marks}
    is_free = (spool_positions.c.position == pending.start) & spool_positions.c.pending_end.is_(None)
    statement = upsert(tx, spool_positions).values(row)
    result = await tx.execute(
        statement.on_conflict_do_update(index_elements=["segment"], set_=marks, where=is_free).returning(
            spool_positions.c.position
        )
    )
    return result.one_or_none() is not None


async def settle(tx: Tx, drained: SegmentRange) -> bool:
    """Move the segment's position to the end of its pending range. Return False if another drainer was first."""
    is_pending = (spool_positions.c.position == drained.start) & (spool_positions.c.pending_end == drained.end)
    statement = update(spool_positions).where(spool_positions.c.segment == drained.segment, is_pending)
    result = await tx.execute(statement.values(position=drained.end, pending_end=None, pending_token=None))
    return result.rowcount == 1


async def delete_positions(tx: Tx, segments: Sequence[str]) -> None:
    await tx.execute(delete(spool_positions).where(spool_positions.c.segment.in_(segments)))


def read_click(row: Row[*tuple[Any, ...]]) -> Click:
    created_at, id_, account_id, link_id, *rest = row[: len(COLUMNS)]
    at = microseconds(created_at)
    return Click(id_.bytes, account_id.bytes, link_id.bytes, at, rest[0], at // QUARTER % 96, *rest[1:])


def read_raw_click(row: Row[*tuple[Any, ...]]) -> Click:
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

    connection = (await tx.get_raw_connection()).driver_connection
    assert connection is not None  # noqa: S101  # a transaction has one
    try:
        async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
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
    ids = [UUID(bytes=id_) for id_ in by_id]
    for start in range(0, len(ids), _MAX_PARAMETERS):
        batch = ids[start : start + _MAX_PARAMETERS]
        for stored in await tx.scalars(select(clicks.c.id).where(clicks.c.id.in_(batch))):
            del by_id[stored.bytes]
    return list(by_id.values())


_row = itemgetter(*map(Click._fields.index, ("id", "account_id", "link_id", "day", "at", *list(clicks.c.keys())[5:])))
"""Return the values of the columns in order. Runs in C."""
