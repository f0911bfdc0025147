"""Statistics as a CSV file: the series, or all values of a list."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from waypost.kit.clock import timestamp
from waypost.kit.csv_cells import csv_text
from waypost.kit.errors import Invalid
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import HOURS, OTHERS, HourCount, Statistics, StatsList

MAX_ROWS = 100_000
"""Of a list. Read one more."""


async def to_csv(query: StatsQuery, found: Statistics, name: StatsList | None) -> str:
    """`name`: of the list. None: the series. Raises Invalid for a list that is too long."""
    if name and name != HOURS and len(found.lists[name]) > MAX_ROWS:
        message = f"This list has more than {MAX_ROWS:,} values. Choose a shorter time range, or filters."
        raise Invalid({"list": [message]})
    return await asyncio.to_thread(csv_text, _rows(query, found, name))


def _rows(query: StatsQuery, found: Statistics, name: StatsList | None) -> Iterator[tuple[Any, ...]]:
    hidden = found.hidden
    if name is None:
        yield "at", "clicks", "visitors", "scans"
        for index, (bucket, point) in enumerate(zip(query.buckets, found.points, strict=True)):
            scans = None if hidden else point.scans
            is_hidden = hidden is not None and index in hidden.points
            counts = (None,) * 3 if is_hidden else (point.clicks, point.visitors, scans)
            yield timestamp(bucket.at), *counts
    elif name == HOURS:
        yield HourCount._fields
        yield from found.hours
    else:
        yield ("value", "clicks", "visitors") if query.has_visitors else ("value", "clicks")
        for value, *counted in found.lists[name]:
            text = _link(found, UUID(value)) if name == "link" else value
            yield text, *(counted if query.has_visitors else counted[:1])
        if hidden and (others := hidden.others.get(name)):
            yield OTHERS, others


def _link(found: Statistics, link_id: UUID) -> str:
    """Return the short URL, or the ID of a deleted link."""
    return found.names[link_id][0] if link_id in found.names else str(link_id)
