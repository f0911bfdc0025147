"""Every statement that touches clicks and spool positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from waypost.database import Tx
from waypost.kit.clock import microseconds
from waypost.resources.clicks.model import Click, clicks, spool_positions

_COLUMNS = tuple(column.name for column in clicks.c)
_INSERT = f"INSERT INTO clicks ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_COPY = f"COPY clicks ({', '.join(_COLUMNS)}) FROM STDIN"

Row = tuple[Click, UUID]
"""A click with its account."""


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


async def add(tx: Tx, rows: Sequence[Row]) -> Sequence[Row]:
    """Returns those that were not there yet: a segment can come back after its removal when a machine crashes.

    Past SQLAlchemy: this is the busiest write of the service. So ids are looked for only where one was refused.
    """
    insert = _insert if tx.dialect.name == "sqlite" else _copy
    try:
        async with tx.begin_nested():
            await insert(tx, rows)
    except _Repeated:
        rows = await _new(tx, rows)
        await insert(tx, rows)
    return rows


class _Repeated(Exception):
    """A click with one of these ids is there already."""


async def _insert(tx: Tx, rows: Sequence[Row]) -> None:
    values = [
        (click.id.bytes, account.bytes, click.link_id.bytes, microseconds(click.created_at), *_rest(click))
        for click, account in rows
    ]
    try:
        await tx.exec_driver_sql(_INSERT, values)
    except IntegrityError as error:
        raise _Repeated from error


async def _copy(tx: Tx, rows: Sequence[Row]) -> None:
    from psycopg.errors import UniqueViolation  # noqa: PLC0415  # loaded already where it is needed, and only there

    connection = (await tx.get_raw_connection()).driver_connection
    assert connection is not None  # noqa: S101  # a transaction has one
    try:
        async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            for click, account in rows:
                await copy.write_row((click.id, account, click.link_id, click.created_at, *_rest(click)))
    except UniqueViolation as error:
        raise _Repeated from error


async def _new(tx: Tx, rows: Sequence[Row]) -> list[Row]:
    by_id = {row[0].id: row for row in rows}
    for told in await tx.scalars(select(clicks.c.id).where(clicks.c.id.in_(by_id))):
        del by_id[told]
    return list(by_id.values())


def _rest(click: Click) -> tuple[str, bool, str, str, str, str]:
    return click.kind, click.is_scan, click.ip, click.user_agent, click.referrer, click.language
