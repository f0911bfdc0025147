"""Exports clicks as CSV or NDJSON, oldest first, in batches: ten million need little memory.

No snapshot stays open while a client reads slowly: clicks that arrive during an export may be included or not.
"""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TextIO
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, select, tuple_

from waypost.auth import select_account_ids
from waypost.database import Database, Id, Instant
from waypost.kit.clock import from_microseconds, microseconds
from waypost.resources.clicks.days import DaySlice, find_days, find_kept_since, slice_between, within
from waypost.resources.clicks.model import HUMAN, Click, ClickKind, Subject, clicks
from waypost.resources.clicks.schemas import ClickJson, to_json
from waypost.resources.clicks.store import COLUMNS, read_click
from waypost.resources.links import SHORT_LINKS

ExportFormat = Literal["csv", "ndjson"]
OnProgress = Callable[[int, int], None]

CSV_COLUMNS = (*ClickJson.__annotations__, "short_url")
_BATCH_SIZE = 5_000
_LOWEST_ID = UUID(int=0)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class ExportQuery:
    subject: Subject | None = None
    """None: every account."""
    kind: ClickKind | None = HUMAN
    """None: every kind."""
    start: datetime | None = None
    end: datetime | None = None


class ExportedClick(NamedTuple):
    click: Click
    short_url: str


async def export(
    db: Database,
    query: ExportQuery,
    file: TextIO,
    export_format: ExportFormat,
    *,
    shared_domain: str,
    on_progress: OnProgress | None = None,
) -> int:
    """Return the number of clicks. Calls `on_progress` with the number written and the total."""
    total = await _count(db, query) if on_progress else 0
    done = 0
    file.write(",".join(CSV_COLUMNS) + "\r\n" if export_format == "csv" else "")
    async for batch in read_batches(db, query, shared_domain):
        file.write(csv_lines(batch) if export_format == "csv" else json_lines(batch))
        done += len(batch)
        if on_progress:
            on_progress(done, max(done, total))
    return done


def csv_lines(batch: Sequence[ExportedClick]) -> str:
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows([*map(_cell, to_json(row.click).values()), _cell(row.short_url)] for row in batch)
    return lines.getvalue()


def json_lines(batch: Sequence[ExportedClick]) -> str:
    return "".join(f"{json.dumps(to_json(row.click), ensure_ascii=False)}\n" for row in batch)


def _cell(value: Any) -> str:
    """Escape what a spreadsheet would run as a formula: visitors choose what their browsers send."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA_STARTS) else value
    return "" if value is None else str(value).lower()


async def read_batches(db: Database, query: ExportQuery, shared_domain: str) -> AsyncIterator[list[ExportedClick]]:
    for day in await _find_days(db, query):
        for part in await _divide(db, day, query):
            after = part.time_range.start, _LOWEST_ID
            while True:
                batch = await _read_batch(db, part, after, query, shared_domain)
                if batch:
                    yield batch
                    after = from_microseconds(batch[-1].click.at), UUID(bytes=batch[-1].click.id)
                if len(batch) < _BATCH_SIZE:
                    break


async def _find_days(db: Database, query: ExportQuery) -> list[DaySlice]:
    """Return the days with clicks, cut at the start and the end of the query."""
    async with db.read_long() as tx:
        first, days = await find_kept_since(tx), await find_days(tx, clicks)
    return slice_between(query.start, query.end, [day for day in days if day >= first])


async def _divide(db: Database, day: DaySlice, query: ExportQuery) -> list[DaySlice]:
    """Return parts with few clicks. Those of all accounts must be sorted; an index has those of a subject in order."""
    if query.subject:
        return [day]
    async with db.read_long() as tx:
        count = await tx.scalar(select(func.count()).select_from(clicks).where(clicks.c.day == day.day)) or 0
    parts = count // _BATCH_SIZE + 1
    boundaries = [day.begin + n * (day.end - day.begin) // parts for n in range(parts + 1)]
    return [day._replace(begin=begin, end=end) for begin, end in pairwise(boundaries)]


async def _read_batch(
    db: Database, part: DaySlice, after: tuple[datetime, UUID], query: ExportQuery, shared_domain: str
) -> list[ExportedClick]:
    link = SHORT_LINKS.c
    order = clicks.c.created_at, clicks.c.id
    statement = (
        select(*COLUMNS, func.coalesce(link.hostname, shared_domain) + "/" + link.slug)
        .join(SHORT_LINKS, link.id == clicks.c.link_id)
        .where(
            *_conditions(part._replace(begin=microseconds(after[0])), query),
            tuple_(*order) > tuple_(literal(after[0], Instant), literal(after[1], Id)),
        )
        .order_by(*order)
        .limit(_BATCH_SIZE)
    )
    async with db.read_long() as tx:
        return [ExportedClick(read_click(row), row[-1]) for row in await tx.execute(statement)]


def _conditions(part: DaySlice, query: ExportQuery) -> list[ColumnElement[bool]]:
    # naming every account lets the index find the part in each; otherwise all of the day would be read
    owner = query.subject.clicks if query.subject else clicks.c.account_id.in_(select_account_ids())
    conditions = [owner, *within(part)]
    return conditions if query.kind is None else [*conditions, clicks.c.kind == query.kind]


async def _count(db: Database, query: ExportQuery) -> int:
    statement, total = select(func.count()).select_from(clicks), 0
    for day in await _find_days(db, query):
        async with db.read_long() as tx:
            total += await tx.scalar(statement.where(*_conditions(day, query))) or 0
    return total
