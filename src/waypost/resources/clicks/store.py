"""Every statement that touches clicks and spool positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from waypost.database import Tx, bulk
from waypost.kit.clock import from_microseconds
from waypost.resources.clicks.model import Click, clicks, spool_positions

_COPY = f"COPY clicks ({', '.join(clicks.c.keys())}) FROM STDIN"
_AT_ONCE = 500  # parameters of one statement


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a segment: what lies between the two positions is drained, or being drained."""

    segment: str
    start: int
    end: int


async def positions(tx: Tx, segments: Sequence[str]) -> dict[str, int]:
    found = await tx.execute(select(spool_positions).where(spool_positions.c.segment.in_(segments)))
    return {row.segment: row.position for row in found}


async def advance(tx: Tx, span: Span) -> bool:
    """False when another drainer was here first: the segment no longer stands where this span begins."""
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    statement = insert(spool_positions).values(segment=span.segment, position=span.end)
    moved = await tx.execute(
        statement.on_conflict_do_update(
            index_elements=["segment"],
            set_={"position": span.end},
            where=spool_positions.c.position == span.start,
        ).returning(spool_positions.c.position)
    )
    return moved.one_or_none() is not None


async def forget(tx: Tx, segments: Sequence[str]) -> None:
    await tx.execute(delete(spool_positions).where(spool_positions.c.segment.in_(segments)))


async def add(tx: Tx, new: Sequence[Click]) -> Sequence[Click]:
    """Returns those that were not there yet: a segment can come back after its removal when a machine crashes.

    Past SQLAlchemy: this is the busiest write of the service. So ids are looked for only where one was refused.
    """
    insert = _insert if tx.dialect.name == "sqlite" else _copy
    try:
        async with tx.begin_nested():
            await insert(tx, new)
    except _Repeated:
        new = await _without_told(tx, new)
        await insert(tx, new)
    return new


class _Repeated(Exception):
    """A click with one of these ids is there already."""


async def _insert(tx: Tx, new: Sequence[Click]) -> None:
    try:
        await bulk.insert(tx, clicks, [_row(click) for click in new])
    except IntegrityError as error:
        raise _Repeated from error


async def _copy(tx: Tx, new: Sequence[Click]) -> None:
    from psycopg import Error  # noqa: PLC0415  # loaded already where it is needed, and only there
    from psycopg.errors import UniqueViolation  # noqa: PLC0415

    connection = (await tx.get_raw_connection()).driver_connection
    assert connection is not None  # noqa: S101  # a transaction has one
    try:
        async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            await copy.write("".join(map(_line, new)))
    except UniqueViolation:
        raise _Repeated from None
    except Error as error:
        if error.sqlstate is None:  # the connection's, which knows of no line
            raise
        raise type(error)(f"COPY clicks: {error.sqlstate}") from None  # its text has the line, with an address


def _line(click: Click) -> str:
    """In COPY's text format; the driver would take five times as long to write it."""
    return (
        f"{click.id.hex()}\t{click.account_id.hex()}\t{click.link_id.hex()}\t{click.day}"
        f"\t{from_microseconds(click.at).isoformat()}\t{click.kind}\t{_text(click.bot)}\t{click.is_scan}"
        f"\t{click.ip.translate(_ESCAPES)}\t{click.country}\t{click.visitor_id}\t{_text(click.referrer)}\t{click.device}\t{_text(click.browser)}"
        f"\t{_text(click.platform)}\n"
    )


@lru_cache(4_096)
def _text(value: str | None) -> str:
    return "\\N" if value is None else value.translate(_ESCAPES)


_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": None})


async def _without_told(tx: Tx, new: Sequence[Click]) -> list[Click]:
    by_id = {click.id: click for click in new}
    ids = [UUID(bytes=id_) for id_ in by_id]
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        for told in await tx.scalars(select(clicks.c.id).where(clicks.c.id.in_(some))):
            del by_id[told.bytes]
    return list(by_id.values())


_row = attrgetter("id", "account_id", "link_id", "day", "at", *list(clicks.c.keys())[5:])
"""The columns in their order; in C, and so at a fifth of the time."""
