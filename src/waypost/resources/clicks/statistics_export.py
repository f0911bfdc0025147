"""Exports daily statistics of an account and of each of its links.

Those of days whose clicks are kept are counted from the clicks that the same export contains. Of earlier days they are
all there is.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from typing_extensions import TypedDict

from waypost.database import Database
from waypost.kit.clock import EPOCH, timestamp
from waypost.kit.fields import IdText, TimestampText
from waypost.resources.clicks.days import find_kept_since, slice_between
from waypost.resources.clicks.model import DIMENSIONS, click_totals
from waypost.resources.clicks.store import ClickStore, DayStatistics, ExportQuery

CSV_COLUMNS = ("date", "link_id", "clicks", "visitors", "scans", "crawlers", "previews", "prefetches")
QUARTER_COLUMNS = tuple(click_totals.c.keys())[2:]


class DayStatisticsJson(TypedDict):
    date: str
    """In UTC."""
    link_id: IdText | None
    """Null: of the account with all its links, deleted ones included."""
    clicks: int
    visitors: int
    scans: int
    crawlers: int
    previews: int
    prefetches: int
    quarters: list[Mapping[str, int | TimestampText | None]]
    """Of an hour; -1 is the whole day."""
    values: Mapping[str, Mapping[str, int]]
    """Clicks by value of each dimension."""


async def read_totals(store: ClickStore, db: Database, query: ExportQuery) -> AsyncIterator[list[DayStatistics]]:
    """Yield the totals of each day: those of the account, then of each link with visits."""
    exporter = store.exporter(db, query, "")
    kept_since = await _find_kept_since(db)
    async for batch in exporter.read_expired(kept_since):
        yield batch
    days = [day for day in await exporter.find_days() if day >= kept_since]
    for day in slice_between(query.start, query.end, days):
        yield await exporter.count_by_link(day)


def csv_lines(batch: Sequence[DayStatistics]) -> str:
    """Nothing in them needs quotes."""
    return "".join(f"{_date(each.day)},{each.link_id or ''},{','.join(map(str, each.totals))}\r\n" for each in batch)


async def read_old_statistics(
    store: ClickStore, db: Database, query: ExportQuery
) -> AsyncIterator[list[DayStatisticsJson]]:
    """Yield all statistics of the days whose clicks were deleted by retention."""
    async for batch in store.exporter(db, query, "").read_expired(await _find_kept_since(db)):
        yield [_to_json(each) for each in batch]


async def _find_kept_since(db: Database) -> int:
    async with db.read_long() as tx:
        return await find_kept_since(tx)


def _to_json(statistics: DayStatistics) -> DayStatisticsJson:
    clicks, visitors, scans, crawlers, previews, prefetches = statistics.totals
    return {
        "date": _date(statistics.day),
        "link_id": str(statistics.link_id) if statistics.link_id else None,
        "clicks": clicks,
        "visitors": visitors,
        "scans": scans,
        "crawlers": crawlers,
        "previews": previews,
        "prefetches": prefetches,
        "quarters": [*_quarters(statistics)],
        "values": _clicks_by_value(statistics),
    }


@lru_cache(8)  # all rows of a day follow one another
def _date(day: int) -> str:
    return f"{EPOCH + timedelta(days=day):%Y-%m-%d}"


def _quarters(statistics: DayStatistics) -> Iterator[dict[str, int | TimestampText | None]]:
    for row in statistics.quarters:
        named = zip(QUARTER_COLUMNS, row, strict=True)
        yield {name: timestamp(value) if isinstance(value, datetime) else value for name, value in named}


def _clicks_by_value(statistics: DayStatistics) -> dict[str, dict[str, int]]:
    return {
        name: {value: clicks for dimension, value, clicks in statistics.values if dimension == number}
        for name, number in DIMENSIONS.items()
    }
