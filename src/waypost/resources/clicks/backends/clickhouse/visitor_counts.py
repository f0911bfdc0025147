"""Counts the visitors of past days once, so that statistics of a large account need not count them each time."""
# ruff: noqa: S608  # these statements consist of constants of this package and of numbers

import structlog

from waypost.database import Database
from waypost.kit.clock import DAY, Clock, microseconds
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.model import WHOLE_DAY

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
