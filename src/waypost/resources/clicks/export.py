"""Exports clicks as CSV or NDJSON, oldest first, in batches: ten million need little memory. And daily statistics.

No snapshot stays open while a client reads slowly: clicks that arrive during an export may be included or not.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Literal, TextIO

from typing_extensions import TypedDict

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, csv_file, encoded, ndjson_file
from waypost.context import Context
from waypost.database import Database
from waypost.kit.clock import EPOCH, from_microseconds, timestamp
from waypost.kit.csv_cells import csv_text
from waypost.kit.fields import IdText, TimestampText
from waypost.resources.clicks.days import DaySlice, find_kept_since, slice_between
from waypost.resources.clicks.model import DIMENSIONS, QUARTER_COLUMNS, Click, Subject
from waypost.resources.clicks.schemas import ClickJson, to_json
from waypost.resources.clicks.store import ClickExporter, ClickStore, DayStatistics, ExportedClick, ExportQuery

ExportFormat = Literal["csv", "ndjson"]
OnProgress = Callable[[int, int], None]

CSV_COLUMNS = (*ClickJson.__annotations__, "short_url")


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
    return csv_text((*to_json(row.click).values(), row.short_url) for row in batch)


def json_lines(batch: Sequence[ExportedClick]) -> str:
    return "".join(_json_line(row.click) for row in batch)


def _json_line(click: Click) -> str:
    """Write what `to_json` returns, in a quarter of the time; and the target of a link with rules or variants."""
    id_, link_id, text = click.id.hex(), click.link_id.hex(), encode_basestring
    return (
        f'{{"id": "{id_[:8]}-{id_[8:12]}-{id_[12:16]}-{id_[16:20]}-{id_[20:]}",'
        f' "link_id": "{link_id[:8]}-{link_id[8:12]}-{link_id[12:16]}-{link_id[16:20]}-{link_id[20:]}",'
        f' "ip": {text(click.ip)}, "country": {text(click.country)},'
        f' "visitor_id": "{click.visitor_id & (2**64 - 1):016x}", "referrer": {text(click.referrer)},'
        f' "device": {text(click.device)}, "browser": {text(click.browser)}, "platform": {text(click.platform)},'
        f' "created_at": "{_second(click.at // 1_000_000)}.{click.at % 1_000_000:06}Z",'
        f' "is_scan": {"true" if click.is_scan else "false"}, "kind": "{click.kind}",'
        f' "bot": {"null" if click.bot is None else text(click.bot)}{_target(click.target)}}}\n'
    )


@lru_cache
def _target(name: str) -> str:
    return f', "target": {encode_basestring(name)}' if name else ""


@lru_cache(8)  # clicks are in order
def _second(seconds: int) -> str:
    return f"{from_microseconds(seconds * 1_000_000):%Y-%m-%dT%H:%M:%S}"


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


STATISTICS_COLUMNS = ("date", "link_id", "clicks", "visitors", "scans", "crawlers", "previews", "prefetches")


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


def statistics_lines(batch: Sequence[DayStatistics]) -> str:
    """Nothing in them needs quotes."""
    return "".join(f"{_date(each.day)},{each.link_id or ''},{','.join(map(str, each.totals))}\r\n" for each in batch)


async def read_old_statistics(
    store: ClickStore, db: Database, query: ExportQuery
) -> AsyncIterator[list[DayStatisticsJson]]:
    """Yield all statistics of the days whose clicks were deleted by retention."""
    async for batch in store.exporter(db, query, "").read_expired(await _find_kept_since(db)):
        yield [_statistics_json(each) for each in batch]


async def _find_kept_since(db: Database) -> int:
    async with db.read_long() as tx:
        return await find_kept_since(tx)


def _statistics_json(statistics: DayStatistics) -> DayStatisticsJson:
    content: Any = {
        "date": _date(statistics.day),
        "link_id": str(statistics.link_id) if statistics.link_id else None,
        **dict(zip(STATISTICS_COLUMNS[2:], statistics.totals, strict=True)),
        "quarters": [*_quarters(statistics)],
        "values": _clicks_by_value(statistics),
    }
    result: DayStatisticsJson = content
    return result


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


def export_account(context: Context, account: Account, now: datetime) -> Files:
    store, db, query = context.click_store, context.db, ExportQuery(Subject(account.id), kind=None, end=now)
    return {
        "clicks.ndjson": encoded(read_batches(store, db, query, context.shared_domain), json_lines),
        "statistics.csv": csv_file(STATISTICS_COLUMNS, read_totals(store, db, query), statistics_lines),
        "old_statistics.ndjson": ndjson_file(read_old_statistics(store, db, query)),
    }


async def clicks_as_csv(context: Context, account: Account, now: datetime) -> AsyncGenerator[bytes]:
    """Yield what `clicks.ndjson` has, for spreadsheets."""
    query = ExportQuery(Subject(account.id), kind=None, end=now)
    yield (",".join(CSV_COLUMNS) + "\r\n").encode()
    batches = read_batches(context.click_store, context.db, query, context.shared_domain)
    async for part in encoded(batches, csv_lines):
        yield part.content
