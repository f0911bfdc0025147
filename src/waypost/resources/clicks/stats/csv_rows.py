"""Statistics as rows of a CSV file: the series, or all values of a list."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from waypost.kit.clock import timestamp
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import HOURS, HourCount, Statistics, StatsList


def rows_of(query: StatsQuery, found: Statistics, name: StatsList | None) -> Iterator[tuple[Any, ...]]:
    """`name`: of the list. None: the series."""
    if name is None:
        yield "at", "clicks", "visitors", "scans"
        for bucket, point in zip(query.buckets, found.points, strict=True):
            yield timestamp(bucket.at), point.clicks, point.visitors, point.scans
    elif name == HOURS:
        yield HourCount._fields
        yield from found.hours
    else:
        yield "value", "clicks"
        for value, clicks, _ in found.lists[name]:
            yield found.names.get(UUID(value), (value, ""))[0] if name == "link" else value, clicks
