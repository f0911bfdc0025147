"""Statistics as a CSV file: the series, or all values of a list; or all of them in a ZIP file."""

import asyncio
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from io import BytesIO
from itertools import islice
from typing import Any
from uuid import UUID

from waypost.kit.clock import timestamp
from waypost.kit.csv_cells import csv_text
from waypost.kit.errors import Invalid
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import HOURS, OTHERS, HourCount, Statistics, StatsList

MAX_ROWS = 100_000
"""Of a list. Read one more."""
MAX_ROWS_OF_ALL = 20_000
"""Of each list in a ZIP file: all are in memory."""
SERIES = "clicks"
"""The name of the file with the series."""


async def to_csv(query: StatsQuery, found: Statistics, name: StatsList | None) -> str:
    """`name`: of the list. None: the series. Raises Invalid for a list that is too long."""
    if name and name != HOURS and len(found.lists[name]) > MAX_ROWS:
        message = f"This list has more than {MAX_ROWS:,} values. Choose a shorter time range, or filters."
        raise Invalid({"list": [message]})
    return await asyncio.to_thread(csv_text, _rows(query, found, name))


async def to_zip(
    query: StatsQuery, found: Statistics, lists: Mapping[str, StatsList], about: str, at: datetime
) -> bytes:
    """Return a ZIP file with the series, each list that has entries, and a README that begins with `about`.

    `at`: the local time of the files.
    """
    return await asyncio.to_thread(_zip, query, found, lists, about, at)


def _zip(query: StatsQuery, found: Statistics, lists: Mapping[str, StatsList], about: str, at: datetime) -> bytes:
    file, notes = BytesIO(), [about]
    with zipfile.ZipFile(file, "w") as archive:

        def add(name: str, text: str) -> None:
            entry = zipfile.ZipInfo(name, at.timetuple()[:6])
            archive.writestr(entry, text.encode(errors="backslashreplace"), zipfile.ZIP_DEFLATED)

        add(f"{SERIES}.csv", csv_text(_rows(query, found, None)))
        for name, list_ in lists.items():
            rows = list(islice(_rows(query, found, list_), MAX_ROWS_OF_ALL + 2))
            if len(rows) > MAX_ROWS_OF_ALL + 1:
                notes.append(
                    f"{name}.csv has the {MAX_ROWS_OF_ALL:,} values with most clicks. Export this list alone for all."
                )
            if len(rows) > 1:
                add(f"{name}.csv", csv_text(rows[: MAX_ROWS_OF_ALL + 1]))
        add("README.txt", "\n".join([*notes, ""]))
    return file.getvalue()


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
