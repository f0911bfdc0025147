"""The click store on a ClickHouse server, for more clicks than one machine's disk holds."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.fair_queue import FairQueue
from waypost.resources.clicks.backends.clickhouse.client import INSERT_TIMEOUT, ClickHouse
from waypost.resources.clicks.backends.clickhouse.export import ClickHouseExporter
from waypost.resources.clicks.backends.clickhouse.read import ClickHouseReader
from waypost.resources.clicks.backends.clickhouse.upkeep import ClickHouseRetention, VisitorCounter, delete_account_rows
from waypost.resources.clicks.model import Click
from waypost.resources.clicks.retention import delete_account_data
from waypost.resources.clicks.store import ExportQuery

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.sql.rebuild import Difference, OnDay, RebuildResult
    from waypost.resources.clicks.intake.build import IntakeSettings
    from waypost.resources.clicks.intake.drain import Drainer
    from waypost.worker.jobs import Handlers
    from waypost.worker.loop import Step

log = structlog.get_logger(__name__)


class ClickHouseStore:
    def __init__(self, client: ClickHouse) -> None:
        self.client = client
        self._fair_slots = FairQueue(12, per_key=4, max_waiting=1_024, max_waiting_per_key=128)

    @contextlib.asynccontextmanager
    async def reader(self, db: Database, account_id: UUID | None = None) -> AsyncIterator[ClickHouseReader]:
        """Hold no connection to PostgreSQL while ClickHouse is waited for: all connections would wait with it."""
        async with self._fair_slots.slot(account_id):
            yield ClickHouseReader(self.client, db)

    def exporter(self, db: Database, query: ExportQuery, shared_domain: str) -> ClickHouseExporter:
        return ClickHouseExporter(self.client, db, query, shared_domain)

    def new_drainer(self, db: Database, spool: Path, settings: "IntakeSettings") -> "Drainer":
        from waypost.resources.clicks.backends.clickhouse.drain import ClickHouseDrainer  # noqa: PLC0415  # for workers

        return ClickHouseDrainer(db, self, spool, settings)

    def hourly_steps(self, db: Database, retention_days: int | None, clock: Clock) -> "list[Step]":
        retention = ClickHouseRetention(db, self.client, retention_days, clock=clock)
        return [VisitorCounter(db, self.client, clock=clock).step, retention.step]

    def handlers(self, db: Database, clock: Clock) -> "Handlers":
        from waypost.resources.clicks.backends.clickhouse.drain import CORRECT_JOB, correct_repeated  # noqa: PLC0415

        return {CORRECT_JOB: partial(correct_repeated, db=db, store=self, clock=clock)}

    async def delete_account_data(
        self, db: Database, account_id: UUID, *, batch_size: int
    ) -> AsyncGenerator[None, None]:
        """Also delete the rows that `waypost clicks move` has left in PostgreSQL."""
        async for _ in delete_account_data(db, account_id, batch_size=batch_size):
            yield
        async for _ in delete_account_rows(self.client, account_id):
            yield

    async def rebuild(self, db: Database, *, from_day: int | None, on_progress: "OnDay | None") -> "RebuildResult":
        from waypost.resources.clicks.backends.clickhouse.rebuild import rebuild  # noqa: PLC0415  # for commands only

        return await rebuild(db, self.client, from_day=from_day, on_progress=on_progress)

    def check(self, db: Database, *, from_day: int | None, on_progress: "OnDay | None") -> "AsyncIterator[Difference]":
        from waypost.resources.clicks.backends.clickhouse.rebuild import check  # noqa: PLC0415

        return check(db, self.client, from_day=from_day, on_progress=on_progress)

    async def close(self) -> None:
        await self.client.close()

    async def insert(self, clicks: Sequence[Click], batch: str) -> None:
        """Store the clicks of a batch once, however often this is repeated. Raises Unavailable."""
        if clicks:
            await self.client.insert("clicks", _columns(clicks, batch), token=batch)

    async def insert_again(self, clicks: Sequence[Click], batch: str) -> None:
        """Store the clicks of a batch that was sent before. Raises Unavailable.

        A server that is killed may remember the token of a block that it has lost. So what is missing is sent with
        another token; the days of these clicks must be counted again, because the views have tokens of their own.
        """
        await self.insert(clicks, batch)
        if not clicks:
            return
        times = [click.at for click in clicks]
        rows = await self.client.query(
            "SELECT id FROM clicks WHERE created_at >= fromUnixTimestamp64Micro({first:Int64})"
            " AND created_at <= fromUnixTimestamp64Micro({last:Int64}) AND batch = {batch:String}",
            {"batch": batch, "first": min(times), "last": max(times)},
            limit=INSERT_TIMEOUT,
        )
        stored = {id_ for (id_,) in rows}
        if missing := [click for click in clicks if click.id not in stored]:
            log.warning("ClickHouse has lost clicks of a batch, sending them again", count=len(missing))
            await self.client.insert("clicks", _columns(missing, batch), token=f"{batch} again")


_ID, _TEXT, _FEW = "FixedString(16)", "String", "LowCardinality(String)"
_TYPES = {
    **dict.fromkeys(("account_id", "link_id", "id"), _ID),
    "day": "Int32",
    "created_at": "DateTime64(6, 'UTC')",
    "is_scan": "Bool",
    "visitor_id": "Int64",
    **dict.fromkeys(("ip", "referrer"), _TEXT),
    **dict.fromkeys(("kind", "bot", "country", "device", "browser", "platform", "target", "batch"), _FEW),
}


def _columns(clicks: Sequence[Click], batch: str) -> dict[str, tuple[str, Sequence[object]]]:
    values: dict[str, Sequence[object]] = dict(zip(Click._fields, zip(*clicks, strict=True), strict=True))
    bots, batches = [bot or "" for bot in values["bot"]], [batch] * len(clicks)
    values |= {"created_at": values["at"], "bot": bots, "batch": batches}
    return {name: (type_, values[name]) for name, type_ in _TYPES.items()}
