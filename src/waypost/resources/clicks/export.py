"""Clicks as CSV or NDJSON, oldest first, page by page: ten million take no more memory than ten.

Refuses to hold a snapshot open while somebody reads slowly: what comes meanwhile may be in it or not.
"""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TextIO
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, select, tuple_

from waypost.auth import all_account_ids
from waypost.database import Database, Id, Instant, Tx
from waypost.kit.clock import EPOCH, from_microseconds
from waypost.resources.clicks.days import kept_since
from waypost.resources.clicks.model import HUMAN, Click, Kind, clicks
from waypost.resources.clicks.rows import COLUMNS as STORED
from waypost.resources.clicks.rows import click_of
from waypost.resources.clicks.schemas import to_json
from waypost.resources.clicks.subject import Subject
from waypost.resources.links import HOSTNAME, links

Form = Literal["csv", "ndjson"]
Told = Callable[[int, int], None]

COLUMNS = (
    "id",
    "link_id",
    "ip",
    "country",
    "visitor_id",
    "referrer",
    "device",
    "browser",
    "platform",
    "created_at",
    "is_scan",
    "kind",
    "bot",
    "short_url",
)
"""Of a CSV file: the click object, and where the link was."""

_AT_ONCE = 5_000
_DAY = timedelta(days=1)
_LEAST = UUID(int=0)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Wanted:
    subject: Subject | None = None
    """None: every account."""
    kind: Kind | None = HUMAN
    """None: every kind."""
    start: datetime | None = None
    end: datetime | None = None


class Stretch(NamedTuple):
    """A part of one day that is read in pages."""

    day: int
    begin: datetime
    end: datetime


class Row(NamedTuple):
    click: Click
    short_url: str


async def export(
    db: Database, wanted: Wanted, to: TextIO, form: Form, *, shared_domain: str, told: Told | None = None
) -> int:
    """Returns how many there were. `told` gets how many are written, and how many there are."""
    total = await _count(db, wanted) if told else 0
    done = 0
    to.write(",".join(COLUMNS) + "\r\n" if form == "csv" else "")
    async for page in pages(db, wanted, shared_domain):
        to.write(csv_lines(page) if form == "csv" else json_lines(page))
        done += len(page)
        if told:
            told(done, max(done, total))
    return done


def csv_lines(page: Sequence[Row]) -> str:
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows([*map(_cell, to_json(row.click).values()), _cell(row.short_url)] for row in page)
    return lines.getvalue()


def json_lines(page: Sequence[Row]) -> str:
    return "".join(f"{json.dumps(to_json(row.click), ensure_ascii=False)}\n" for row in page)


def _cell(value: Any) -> str:
    """A spreadsheet takes a text that begins like a formula for one, and visitors choose what their browsers say."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if value is None else str(value).lower()


async def pages(db: Database, wanted: Wanted, shared_domain: str) -> AsyncIterator[list[Row]]:
    for day in await _days(db, wanted):
        for stretch in await _stretches(db, day, wanted):
            after = stretch.begin, _LEAST
            while True:
                page = await _page(db, stretch, after, wanted, shared_domain)
                if page:
                    yield page
                    after = from_microseconds(page[-1].click.at), UUID(bytes=page[-1].click.id)
                if len(page) < _AT_ONCE:
                    break


async def _days(db: Database, wanted: Wanted) -> list[Stretch]:
    """From one day with clicks to the next; cut off where the period begins and ends."""
    found: list[Stretch] = []
    async with db.read_long() as tx:
        day = await _next_day(tx, await kept_since(tx) - 1)
        while day is not None:
            midnight = EPOCH + day * _DAY
            begin, end = max(midnight, wanted.start or midnight), min(midnight + _DAY, wanted.end or midnight + _DAY)
            if begin < end:
                found.append(Stretch(day, begin, end))
            day = await _next_day(tx, day)
    return found


async def _next_day(tx: Tx, day: int) -> int | None:
    found: int | None = await tx.scalar(select(func.min(clicks.c.day)).where(clicks.c.day > day))
    return found


async def _stretches(db: Database, day: Stretch, wanted: Wanted) -> list[Stretch]:
    """Of one link or account an index has the clicks in order. Of all they must be sorted, so in small parts."""
    if wanted.subject:
        return [day]
    async with db.read_long() as tx:
        count = await tx.scalar(select(func.count()).select_from(clicks).where(clicks.c.day == day.day)) or 0
    parts = count // _AT_ONCE + 1
    edges = [day.begin + n * (day.end - day.begin) / parts for n in range(parts)]
    return [Stretch(day.day, *edge) for edge in zip(edges, [*edges[1:], day.end], strict=True)]


async def _page(
    db: Database, stretch: Stretch, after: tuple[datetime, UUID], wanted: Wanted, shared_domain: str
) -> list[Row]:
    host = func.coalesce(HOSTNAME, shared_domain)
    order = clicks.c.created_at, clicks.c.id
    oldest = (
        select(*STORED, host + "/" + links.c.slug)
        .join(links, links.c.id == clicks.c.link_id)
        .where(
            *_within(stretch._replace(begin=after[0]), wanted),
            tuple_(*order) > tuple_(literal(after[0], Instant), literal(after[1], Id)),
        )
        .order_by(*order)
        .limit(_AT_ONCE)
    )
    async with db.read_long() as tx:
        return [Row(click_of(row), row[-1]) for row in await tx.execute(oldest)]


def _within(stretch: Stretch, wanted: Wanted) -> list[ColumnElement[bool]]:
    # naming every account lets the index find the stretch in each, where else the whole day would be read
    whose = wanted.subject.clicks if wanted.subject else clicks.c.account_id.in_(all_account_ids())
    at = clicks.c.created_at
    conditions = [clicks.c.day == stretch.day, whose, at >= stretch.begin, at < stretch.end]
    return conditions if wanted.kind is None else [*conditions, clicks.c.kind == wanted.kind]


async def _count(db: Database, wanted: Wanted) -> int:
    days = await _days(db, wanted)
    async with db.read_long() as tx:
        counts = [
            await tx.scalar(select(func.count()).select_from(clicks).where(*_within(day, wanted))) for day in days
        ]
    return sum(count or 0 for count in counts)
