"""Exports clicks as CSV or NDJSON, oldest first, in batches: ten million need little memory.

No snapshot stays open while a client reads slowly: clicks that arrive during an export may be included or not.
"""

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, TextIO

from waypost.database import Database
from waypost.resources.clicks.click_store import ClickExporter, ClickStore, ExportedClick, ExportQuery
from waypost.resources.clicks.days import DaySlice, find_kept_since, slice_between
from waypost.resources.clicks.schemas import ClickJson, to_json

ExportFormat = Literal["csv", "ndjson"]
OnProgress = Callable[[int, int], None]

CSV_COLUMNS = (*ClickJson.__annotations__, "short_url")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


async def export(
    store: ClickStore,
    db: Database,
    query: ExportQuery,
    file: TextIO,
    export_format: ExportFormat,
    *,
    shared_domain: str,
    on_progress: OnProgress | None = None,
) -> int:
    """Return the number of clicks. Calls `on_progress` with the number written and the total."""
    exporter = store.exporter(db, query, shared_domain)
    days = await _find_days(db, exporter, query)
    total = sum([await exporter.count(day) for day in days]) if on_progress else 0
    done = 0
    file.write(",".join(CSV_COLUMNS) + "\r\n" if export_format == "csv" else "")
    async for batch in _read(exporter, days):
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


async def read_batches(
    store: ClickStore, db: Database, query: ExportQuery, shared_domain: str
) -> AsyncIterator[list[ExportedClick]]:
    exporter = store.exporter(db, query, shared_domain)
    async for batch in _read(exporter, await _find_days(db, exporter, query)):
        yield batch


async def _read(exporter: ClickExporter, days: Sequence[DaySlice]) -> AsyncIterator[list[ExportedClick]]:
    for day in days:
        async for batch in exporter.read(day):
            yield batch


async def _find_days(db: Database, exporter: ClickExporter, query: ExportQuery) -> list[DaySlice]:
    """Return the days with clicks, cut at the start and the end of the query."""
    async with db.read_long() as tx:
        first = await find_kept_since(tx)
    return slice_between(query.start, query.end, [day for day in await exporter.find_days() if day >= first])
