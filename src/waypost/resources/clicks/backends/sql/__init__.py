"""The click store in the service's own database."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.clicks.backends.sql.export import SqlExporter
from waypost.resources.clicks.backends.sql.read import SqlReader
from waypost.resources.clicks.store import ExportQuery

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.sql.rebuild import Difference, OnDay, RebuildResult
    from waypost.resources.clicks.intake.build import IntakeSettings
    from waypost.resources.clicks.intake.drain import Drainer
    from waypost.worker.jobs import Handlers
    from waypost.worker.loop import Step


class SqlClickStore:
    @contextlib.asynccontextmanager
    async def reader(self, db: Database, account_id: UUID | None = None) -> AsyncIterator[SqlReader]:
        async with db.read_for(account_id) if account_id else db.read() as tx:
            yield SqlReader(tx)

    def exporter(self, db: Database, query: ExportQuery, shared_domain: str) -> SqlExporter:
        return SqlExporter(db, query, shared_domain)

    def new_drainer(self, db: Database, spool: Path, settings: "IntakeSettings") -> "Drainer":
        from waypost.resources.clicks.intake.drain import Drainer  # noqa: PLC0415  # for workers, like the next ones

        return Drainer(db, spool, settings)

    def hourly_steps(self, db: Database, retention_days: int | None, clock: Clock) -> "list[Step]":
        from waypost.resources.clicks.backends.sql.top_values import StatsCacheRefresher  # noqa: PLC0415
        from waypost.resources.clicks.retention import Retention  # noqa: PLC0415

        return [Retention(db, retention_days, clock=clock).step, StatsCacheRefresher(db, clock=clock).step]

    def handlers(self, db: Database, clock: Clock) -> "Handlers":  # noqa: ARG002
        return {}

    def delete_account_data(self, db: Database, account_id: UUID, *, batch_size: int) -> AsyncGenerator[None, None]:
        from waypost.resources.clicks.retention import delete_account_data  # noqa: PLC0415

        return delete_account_data(db, account_id, batch_size=batch_size)

    async def rebuild(self, db: Database, *, from_day: int | None, on_progress: "OnDay | None") -> "RebuildResult":
        from waypost.resources.clicks.backends.sql.rebuild import rebuild  # noqa: PLC0415  # for commands only

        return await rebuild(db, from_day=from_day, on_progress=on_progress)

    def check(self, db: Database, *, from_day: int | None, on_progress: "OnDay | None") -> "AsyncIterator[Difference]":
        from waypost.resources.clicks.backends.sql.rebuild import check  # noqa: PLC0415

        return check(db, from_day=from_day, on_progress=on_progress)

    async def close(self) -> None:
        pass
