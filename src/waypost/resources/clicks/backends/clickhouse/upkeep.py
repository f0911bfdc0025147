"""What the worker does each hour, and when an account is deleted: counts visitors of past days, and deletes rows."""
# ruff: noqa: S608  # these statements consist of constants of this package, numbers and ids

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID

import structlog

from waypost.database import Database
from waypost.kit.clock import DAY, EPOCH, Clock, microseconds
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.model import WHOLE_DAY
from waypost.resources.clicks.retention import Retention

log = structlog.get_logger(__name__)

_CLICKS_PER_STATEMENT = 5_000_000
"""More would need gigabytes of the server's memory: each visitor is an entry of a hash table."""
_COLUMNS = "subject_id, day, quarter, account_id, counted, visitors, new_in_15, new_in_30, new_in_45, firsts, lasts"


def first_seen(clicks: str) -> str:
    """Return a query of the visitors of each subject, day and quarter, and of the whole day (quarter -1).

    `clicks`: a query with the columns `subject_id`, `account_id`, `day`, `created_at` and `visitor_id`. Which visitors
    each column counts is described at `changes_per_quarter` in stats/aggregate.py. `counted` grows with every click of
    a visitor.
    """
    return f"""
SELECT subject_id, day, toInt8(seen_in) AS quarter, any(account) AS account_id, sum(clicks) AS counted,
  count() AS visitors,
  countIf(seen_in - seen_before > 1) AS new_in_15, countIf(seen_in - seen_before > 2) AS new_in_30,
  countIf(seen_in - seen_before > 3) AS new_in_45, countIf(seen_before = -100) AS firsts,
  countIf(seen_in = {WHOLE_DAY} OR seen_in = quarters[-1]) AS lasts
FROM (
  SELECT subject_id, day, any(account_id) AS account, count() AS clicks, arraySort(groupUniqArray(toInt16(
      intDiv(toUnixTimestamp64Micro(created_at), 900000000) - toInt64(day) * 96))) AS quarters
  FROM ({clicks}) GROUP BY subject_id, day, visitor_id
)
ARRAY JOIN arrayPushFront(quarters, toInt16({WHOLE_DAY})) AS seen_in,
  arrayPushFront(arrayPushFront(arrayPopBack(quarters), toInt16(-100)), toInt16(-100)) AS seen_before
GROUP BY subject_id, day, seen_in"""


class VisitorCounter:
    """Runs hourly: counts the visitors of days that are over, and again of days with late clicks."""

    def __init__(self, db: Database, client: ClickHouse, *, clock: Clock) -> None:
        self._db = db
        self._client = client
        self._clock = clock

    async def step(self) -> bool:
        """Count one day. Return False if there is none."""
        async with self._db.read() as tx:
            kept_since = await find_kept_since(tx)
        return await self.count_next(kept_since, microseconds(self._clock()) // DAY)

    async def count_next(self, first: int, end: int) -> bool:
        """Count the first of the days from `first` to before `end` that has more clicks than were counted."""
        rows = await self._client.query(
            "SELECT day, clicks FROM ("
            f"SELECT day, sum(clicks) AS clicks FROM click_counts WHERE day >= {first} AND day < {end} GROUP BY day"
            ") AS current LEFT JOIN (SELECT day, max(clicks) AS clicks FROM visitor_count_days GROUP BY day) AS counted"
            " ON current.day = counted.day WHERE current.clicks > counted.clicks ORDER BY day LIMIT 1",
            limit=LONG_TIMEOUT,
        )
        for day, clicks in rows:
            await self._count(day, clicks)
        return bool(rows)

    async def _count(self, day: int, clicks: int) -> None:
        """`clicks`: of all links and all accounts on the day."""
        parts = clicks // _CLICKS_PER_STATEMENT + 1
        for part in range(parts):
            of_subjects = (
                "SELECT arrayJoin([account_id, link_id]) AS subject_id, account_id, day, created_at, visitor_id"
                f" FROM clicks WHERE day = {day} AND kind = 'human' AND cityHash64(account_id) % {parts} = {part}"
            )
            await self._client.command(
                f"INSERT INTO visitor_counts ({_COLUMNS}) SELECT {_COLUMNS} FROM ({first_seen(of_subjects)})",
                settings={"insert_deduplicate": 0},  # a rebuild may insert again what it has deleted
            )
        await self._client.command(
            f"INSERT INTO visitor_count_days (day, clicks) VALUES ({day}, {clicks})", settings={"insert_deduplicate": 0}
        )
        log.info("visitors counted", day=day)


class ClickHouseRetention(Retention):
    """Also deletes the rows that `waypost clicks move` has left in PostgreSQL."""

    def __init__(self, db: Database, client: ClickHouse, days: int | None, *, clock: Clock) -> None:
        super().__init__(db, days, clock=clock)
        self._client = client
        self._visitors = VisitorCounter(db, client, clock=clock)

    async def _prepare(self, day: int) -> None:
        """Count the visitors of the days that expire: without their clicks it is impossible."""
        async with self._db.read() as tx:
            kept_since = await find_kept_since(tx)
        while await self._visitors.count_next(kept_since, day):
            pass

    async def _delete(self, day: int) -> bool:
        has_more = await super()._delete(day)
        if not has_more:
            await self._delete_clicks(day)
        return has_more

    async def _delete_clicks(self, day: int) -> None:
        """Drop expired months, and let the server delete expired days of the current one in the background."""
        month = f"{EPOCH + timedelta(days=day):%Y%m}"
        months = await self._client.query(
            "SELECT DISTINCT partition FROM system.parts WHERE database = currentDatabase() AND table = 'clicks'"
            f" AND active AND partition < '{month}'"
        )
        for (expired,) in months:
            await self._client.command(f"ALTER TABLE clicks DROP PARTITION {int(expired)}")
        expired = f"day < {day}"
        until = f"created_at < fromUnixTimestamp64Micro({day * DAY})"  # limits the partitions
        has_expired = await self._client.query(
            f"SELECT 1 FROM clicks WHERE {expired} AND {until} LIMIT 1", limit=LONG_TIMEOUT
        )
        if has_expired and not await is_deleting(self._client, "clicks", expired):
            await self._client.command(f"ALTER TABLE clicks DELETE IN PARTITION {month} WHERE {expired}")


_TABLES = ("clicks", "click_counts", "click_dimensions", "visitor_counts")
_POLL_INTERVAL = 0.5  # seconds


async def delete_account_rows(client: ClickHouse, account_id: UUID) -> AsyncGenerator[None, None]:
    """Yield while the server deletes. Starts no second deletion while one that was begun before goes on."""
    condition = f"account_id = unhex('{account_id.hex}')"
    for table in _TABLES:
        while await client.query(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1", limit=LONG_TIMEOUT):
            if not await is_deleting(client, table, account_id.hex):
                await client.command(f"ALTER TABLE {table} DELETE WHERE {condition}")
            while await is_deleting(client, table, account_id.hex):
                yield
                await asyncio.sleep(_POLL_INTERVAL)


async def is_deleting(client: ClickHouse, table: str, text: str) -> bool:
    """Whether a deletion that contains the text is going on."""
    return bool(
        await client.query(
            f"SELECT 1 FROM system.mutations WHERE database = currentDatabase() AND table = '{table}' AND NOT is_done"
            f" AND position(command, '{text}') > 0 LIMIT 1"
        )
    )
