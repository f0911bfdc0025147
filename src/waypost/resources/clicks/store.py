"""Every statement that touches clicks and spool positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Tx
from waypost.kit.clock import microseconds
from waypost.resources.clicks.model import Click, clicks, spool_positions

_COLUMNS = tuple(column.name for column in clicks.c)
_INSERT = f"INSERT INTO clicks ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_COPY = f"COPY clicks ({', '.join(_COLUMNS)}) FROM STDIN"


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


async def add(tx: Tx, rows: Sequence[tuple[Click, UUID]]) -> None:
    """Each click with its account. Past SQLAlchemy: this is the busiest write of the service."""
    if tx.dialect.name == "sqlite":
        values = [
            (click.id.bytes, account.bytes, click.link_id.bytes, microseconds(click.created_at), *_rest(click))
            for click, account in rows
        ]
        await tx.exec_driver_sql(_INSERT, values)
        return
    connection = (await tx.get_raw_connection()).driver_connection
    assert connection is not None  # noqa: S101  # a transaction has one
    async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for click, account in rows:
            await copy.write_row((click.id, account, click.link_id, click.created_at, *_rest(click)))


def _rest(click: Click) -> tuple[str, bool, str, str, str, str]:
    return click.kind, click.is_scan, click.ip, click.user_agent, click.referrer, click.language
