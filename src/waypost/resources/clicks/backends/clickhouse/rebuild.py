"""Compares statistics in ClickHouse with the clicks, and rebuilds them, while the service runs.

The queries share no code with those that count new clicks, so that each checks the other. They read the clicks of a few
accounts at a time, because the server counts in memory.
"""
# ruff: noqa: S608  # these statements consist of constants of this package, numbers and ids

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import BigInteger, column, select, text, values

from waypost.database import Database, Id, Tx, read_in_batches
from waypost.kit.clock import DAY, Clock, microseconds, now
from waypost.kit.errors import WaypostError
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse
from waypost.resources.clicks.backends.clickhouse.upkeep import VisitorCounter
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.backends.sql.rebuild import (
    Difference,
    OnDay,
    RebuildResult,
    difference_of_day,
    difference_of_links,
)
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.model import DIMENSIONS, WHOLE_DAY, spool_positions

_LINKS_BATCH_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class WrongLinks:
    clicks: Collection[UUID]
    scans: Collection[UUID]
    sums: dict[UUID, tuple[int, int]]
    """(clicks, scans) of links that have any."""

    @property
    def all(self) -> set[UUID]:
        return {*self.clicks, *self.scans}


async def rebuild(
    db: Database,
    client: ClickHouse,
    *,
    from_day: int | None = None,
    on_progress: OnDay | None = None,
    clock: Clock = now,
) -> RebuildResult:
    """Call `on_progress` with the number of days done and of all days."""
    result = RebuildResult()
    days = await _find_days(db, client, from_day)
    for day in days:
        if on_progress:
            on_progress(result.days, len(days))
        result.corrected += await correct_day(db, client, day, clock=clock)
        result.days += 1
    async for batch in _link_batches(db):
        if (await _find_wrong_links(db, client, batch)).all:
            async with paused(db) as tx:
                wrong = await _find_wrong_links(db, client, batch)
                await links.set_clicks(tx, {id_: wrong.sums.get(id_, (0, 0))[0] for id_ in wrong.clicks})
                await qrcodes.set_scans(tx, {id_: wrong.sums.get(id_, (0, 0))[1] for id_ in wrong.scans})
            result.links += len(wrong.all)
    return result


async def correct_day(db: Database, client: ClickHouse, day: int, *, clock: Clock) -> bool:
    """Count a day again if its statistics differ from the clicks. Return whether they did."""
    if await differs(client, day):
        async with paused(db) as tx:
            if await _really_differs(tx, client, day):
                today = microseconds(clock()) // DAY
                await replace(client, VisitorCounter(db, client, clock=clock), day, today)
                return True
    return False


async def check(
    db: Database, client: ClickHouse, *, from_day: int | None = None, on_progress: OnDay | None = None
) -> AsyncIterator[Difference]:
    """Yield what differs. Changes nothing."""
    days = await _find_days(db, client, from_day)
    for number, day in enumerate(days):
        if on_progress:
            on_progress(number, len(days))
        if count := await count_duplicates(client, day):
            yield _duplicates(day, count)
        if await differs(client, day):
            async with paused(db) as tx:
                is_different = await _really_differs(tx, client, day)
            if is_different:
                yield difference_of_day(day)
    count = 0
    async for batch in _link_batches(db):
        if (await _find_wrong_links(db, client, batch)).all:
            async with paused(db):
                count += len((await _find_wrong_links(db, client, batch)).all)
    if count:
        yield difference_of_links(count)


def _duplicates(day: int, count: int) -> Difference:
    found = difference_of_day(day)
    advice = "OPTIMIZE TABLE clicks FINAL DEDUPLICATE BY account_id, day, link_id, created_at, id"
    return Difference(
        f"{found.text.partition(':')[0]}: {count} clicks are stored twice",
        f"{advice} in ClickHouse, then {found.command}",
    )


async def _find_days(db: Database, client: ClickHouse, from_day: int | None) -> list[int]:
    async with db.read() as tx:
        first = max(from_day or 0, await find_kept_since(tx))
    return await find_days(client, first)


async def _really_differs(tx: Tx, client: ClickHouse, day: int) -> bool:
    """Compare again while no batch is being inserted, unless retention has reached the day."""
    return day >= await find_kept_since(tx) and await differs(client, day)


async def _link_batches(db: Database) -> AsyncIterator[Sequence[UUID]]:
    id_ = links.SHORT_LINKS.c.id
    async for rows in read_in_batches(db.read, select(id_), id_, _LINKS_BATCH_SIZE):
        yield [row.id for row in rows]


async def _find_wrong_links(db: Database, client: ClickHouse, link_ids: Sequence[UUID]) -> WrongLinks:
    ids = ", ".join(f"unhex('{id_.hex}')" for id_ in link_ids)
    rows = await client.query(
        f"SELECT subject_id, sum(clicks), sum(scans) FROM click_counts WHERE subject_id IN ({ids}) GROUP BY subject_id",
        limit=LONG_TIMEOUT,
    )
    sums = {UUID(bytes=id_): (clicks, scans) for id_, clicks, scans in rows}
    table = values(column("id", Id), column("clicks", BigInteger), column("scans", BigInteger), name="expected")
    expected = select(table.data([(id_, *sums.get(id_, (0, 0))) for id_ in link_ids])).subquery()
    async with db.read() as tx:
        return WrongLinks(
            await links.find_wrong_clicks(tx, expected), await qrcodes.find_wrong_scans(tx, expected), sums
        )


_POLL_INTERVAL = 0.1  # seconds
_MAX_POLLS = 300
_ALLOW_IDLE = text("SELECT set_config('idle_in_transaction_session_timeout', '1h', TRUE)")
_PENDING = select(spool_positions.c.segment).where(spool_positions.c.pending_end.is_not(None)).limit(1)


class BatchPending(WaypostError):
    """A node has not finished a batch of clicks."""


@asynccontextmanager
async def paused(db: Database) -> AsyncIterator[Tx]:
    """Hold a transaction during which no batch is being inserted, and retention does not begin.

    ClickHouse has no snapshot of several tables. So a drainer begins a batch only if it can share a lock in PostgreSQL,
    and ends the batch without it: with the lock and no batch pending, clicks and statistics are complete.

    Raises BatchPending if a batch is not finished in time, because its node is down.
    """
    async with db.write() as tx:
        await write.lock(tx)
        await tx.execute(_ALLOW_IDLE)
        for _ in range(_MAX_POLLS):
            async with db.read() as other:
                segment = await other.scalar(_PENDING)
            if segment is None:
                break
            await asyncio.sleep(_POLL_INTERVAL)
        else:
            raise BatchPending(
                f"The batch of clicks from the spool segment {segment} is not finished. Start the worker of its node,"
                " or run waypost spool drain for its spool. Then run this command again."
            )
        yield tx


_CLICKS_PER_QUERY = 5_000_000

_SUBJECTS = """(
  SELECT account_id AS subject_id, *, toUInt8(toHour(created_at) * 4 + intDiv(toMinute(created_at), 15)) AS quarter
  FROM clicks WHERE {of_day}
  UNION ALL
  SELECT link_id AS subject_id, *, toUInt8(toHour(created_at) * 4 + intDiv(toMinute(created_at), 15)) AS quarter
  FROM clicks WHERE {of_day}
)"""

_COUNT_COLUMNS = "subject_id, day, quarter, clicks, crawlers, previews, prefetches, scans, first_at, last_at"
_COUNTS = f"""
SELECT subject_id, any(account_id) AS account, day, quarter, sum(kind = 'human') AS clicks,
  sum(kind = 'crawler') AS crawlers, sum(kind = 'preview') AS previews, sum(kind = 'prefetch') AS prefetches,
  sum(kind = 'human' AND is_scan) AS scans, minOrNullIf(created_at, kind = 'human') AS first_at,
  maxOrNullIf(created_at, kind = 'human') AS last_at
FROM {_SUBJECTS} GROUP BY subject_id, day, quarter"""
_STORED_COUNTS = """
SELECT subject_id, day, quarter, sum(of_rows.clicks) AS clicks, sum(of_rows.crawlers) AS crawlers,
  sum(of_rows.previews) AS previews, sum(of_rows.prefetches) AS prefetches, sum(of_rows.scans) AS scans,
  min(of_rows.first_at) AS first_at, max(of_rows.last_at) AS last_at
FROM click_counts AS of_rows WHERE day = {day} AND {part} GROUP BY subject_id, day, quarter
HAVING clicks > 0 OR crawlers > 0 OR previews > 0 OR prefetches > 0"""

_DIMENSION_COLUMNS = "subject_id, dimension, day, value, clicks"
_VALUES = {
    "country": "toString(country)",
    "referrer": "referrer",
    "agent": "device || '\\t' || browser || '\\t' || platform",
    "link": "lower(hex(link_id))",
    "target": "toString(target)",
}
_ONLY = {"link": " AND subject_id = account_id", "target": " AND subject_id = link_id AND target != ''"}
"""The clicks that a dimension counts, unless it counts all."""
_DIMENSIONS = " UNION ALL ".join(
    f"SELECT subject_id, any(account_id) AS account, toUInt8({number}) AS dimension, day, {_VALUES[name]} AS value,"
    f" count() AS clicks FROM {_SUBJECTS} WHERE kind = 'human'"
    f"{_ONLY.get(name, '')} GROUP BY subject_id, day, value"
    for name, number in DIMENSIONS.items()
)
_STORED_DIMENSIONS = """
SELECT subject_id, dimension, day, value, sum(of_rows.clicks) AS clicks FROM click_dimensions AS of_rows
WHERE day = {day} AND {part} GROUP BY subject_id, dimension, day, value HAVING clicks > 0"""

# a row is valid only if its subject has no more clicks than were counted
_VALID = f"""(
  SELECT subject_id FROM (
    SELECT subject_id, max(counted) AS of_day FROM visitor_counts
    WHERE day = {{day}} AND quarter = {WHOLE_DAY} AND {{part}} GROUP BY subject_id
  ) AS counted INNER JOIN (
    SELECT subject_id, sum(clicks) AS of_day FROM click_counts WHERE day = {{day}} AND {{part}} GROUP BY subject_id
  ) AS current ON counted.subject_id = current.subject_id WHERE counted.of_day = current.of_day
)"""
_VISITORS = f"""
SELECT subject_id, toInt8(quarter) AS quarter, count() AS visitors, countIf(isNull(before) OR quarter - before > 1),
  countIf(isNull(before) OR quarter - before > 2), countIf(isNull(before) OR quarter - before > 3),
  countIf(isNull(before)), countIf(isNull(following))
FROM (
  SELECT subject_id, quarter, lagInFrame(toNullable(quarter)) OVER of_visitor AS before,
    leadInFrame(toNullable(quarter)) OVER of_visitor AS following
  FROM (SELECT DISTINCT subject_id, visitor_id, quarter FROM {_SUBJECTS} WHERE kind = 'human')
  WINDOW of_visitor AS (
    PARTITION BY subject_id, visitor_id ORDER BY quarter ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
) WHERE subject_id IN {_VALID} GROUP BY subject_id, quarter
UNION ALL
SELECT subject_id, toInt8({WHOLE_DAY}), uniqExact(visitor_id) AS visitors, visitors, visitors, visitors,
  visitors, visitors
FROM {_SUBJECTS} WHERE kind = 'human' AND subject_id IN {_VALID} GROUP BY subject_id"""
_STORED_VISITORS = f"""
SELECT subject_id, quarter, argMax(visitors, counted), argMax(new_in_15, counted), argMax(new_in_30, counted),
  argMax(new_in_45, counted), argMax(firsts, counted), argMax(lasts, counted)
FROM visitor_counts WHERE day = {{day}} AND {{part}} AND subject_id IN {_VALID} GROUP BY subject_id, quarter"""


async def find_days(client: ClickHouse, first: int) -> list[int]:
    """Return the days with clicks or statistics from `first` on, in order."""
    tables = (f"SELECT DISTINCT day FROM {table} WHERE day >= {first}" for table in ("clicks", "click_counts"))
    rows = await client.query(f"SELECT day FROM ({' UNION DISTINCT '.join(tables)}) ORDER BY day", limit=LONG_TIMEOUT)
    return [day for (day,) in rows]


async def differs(client: ClickHouse, day: int) -> bool:
    """Whether sums or visitors differ from the clicks. Clicks that arrive meanwhile look like a difference."""
    for names in await _parts(client, day):
        for columns, expected, stored in (
            (_COUNT_COLUMNS, _COUNTS, _STORED_COUNTS),
            (_DIMENSION_COLUMNS, _DIMENSIONS, _STORED_DIMENSIONS),
            ("*", _VISITORS, _STORED_VISITORS),
        ):
            if await _has_difference(client, columns, expected.format(**names), stored.format(**names)):
                return True
    return False


async def replace(client: ClickHouse, visitors: VisitorCounter, day: int, today: int) -> None:
    """Count the day again. Nothing may be inserted meanwhile. After an interruption, it must be repeated."""
    await delete_statistics(client, day)
    for names in await _parts(client, day):
        for table, columns, expected in (
            ("click_counts", _COUNT_COLUMNS, _COUNTS),
            ("click_dimensions", _DIMENSION_COLUMNS, _DIMENSIONS),
        ):
            counted = f"SELECT {columns}, account FROM ({expected.format(**names)})"
            await client.command(
                f"INSERT INTO {table} ({columns}, account_id) {counted}",
                settings={"insert_deduplicate": 0},  # else these rows are dropped if the same were inserted before
            )
    if day < today:
        await visitors.count_next(day, day + 1)


async def delete_statistics(client: ClickHouse, day: int) -> None:
    for table in ("click_counts", "click_dimensions", "visitor_counts", "visitor_count_days"):
        await client.command(f"DELETE FROM {table} WHERE day = {day}")


async def count_duplicates(client: ClickHouse, day: int) -> int:
    """Return how many clicks of the day are stored more than once."""
    count = 0
    for names in await _parts(client, day):
        query = f"SELECT count() - uniqExact(id) FROM clicks WHERE {names['of_day']}"
        count += (await client.query(query, limit=LONG_TIMEOUT))[0][0]
    return count


async def _has_difference(client: ClickHouse, columns: str, expected: str, stored: str) -> bool:
    both = f"SELECT {columns} FROM ({expected}) UNION ALL SELECT {columns} FROM ({stored})"
    query = f"SELECT *, count() FROM ({both}) GROUP BY ALL HAVING count() = 1 LIMIT 1"
    return bool(await client.query(query, limit=LONG_TIMEOUT))


async def _parts(client: ClickHouse, day: int) -> list[dict[str, str]]:
    """Return the texts of conditions that select a few accounts each."""
    of_day = clicks_of_day(day)
    ((count,),) = await client.query(f"SELECT count() FROM clicks WHERE {of_day}", limit=LONG_TIMEOUT)
    return [{"day": str(day), "part": part, "of_day": f"{of_day} AND {part}"} for part in _account_parts(count)]


def clicks_of_day(day: int) -> str:
    """Return SQL conditions. The times limit the partitions."""
    begin, end = day * DAY, (day + 1) * DAY
    times = f"created_at >= fromUnixTimestamp64Micro({begin}) AND created_at < fromUnixTimestamp64Micro({end})"
    return f"day = {day} AND {times}"


def _account_parts(count: int) -> Iterator[str]:
    parts = count // _CLICKS_PER_QUERY + 1
    for part in range(parts):
        yield f"cityHash64(account_id) % {parts} = {part}"
