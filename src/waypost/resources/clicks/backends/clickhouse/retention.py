"""Deletes old clicks in ClickHouse. The boundary is in PostgreSQL, and hides them immediately."""
# ruff: noqa: S608  # these statements consist of constants and of numbers

from datetime import timedelta

from waypost.database import Database
from waypost.kit.clock import DAY, EPOCH, Clock
from waypost.resources.clicks.backends.clickhouse.account_data import is_deleting
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse
from waypost.resources.clicks.backends.clickhouse.visitor_counts import VisitorCounter
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.retention import Retention


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
