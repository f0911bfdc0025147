"""What the worker runs of links: steps of the image store, and checks of routed destinations."""

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.resources.links import routing
from waypost.resources.links.deps import Deps
from waypost.resources.links.images.files import ImageFiles
from waypost.resources.links.images.media import ImageStore
from waypost.resources.links.routes.changes import Routes
from waypost.settings import Settings
from waypost.worker.jobs import Job
from waypost.worker.run import Periodic, WorkerParts

if TYPE_CHECKING:
    from waypost.outbound import DestinationChecker, Outbound
    from waypost.resources.links.images.rows import ImageRows

_RECHECK_AFTER = timedelta(hours=6)
_RECHECKED_AT_ONCE = 100
"""Links in one step. A link has at most 31 destinations."""

CHANGE_JOB, PURGE_JOB = "links.change_many", "links.purge_deleted"


def new_image_store(settings: Settings, db: Database, clock: Clock) -> ImageStore:
    return ImageFiles(settings.data_dir / "media") if db.dialect == "sqlite" else _image_rows(settings, db, clock)


def _image_rows(settings: Settings, db: Database, clock: Clock) -> "ImageRows":
    from waypost.resources.links.images.rows import ImageRows  # noqa: PLC0415  # not loaded on SQLite

    return ImageRows(db, settings.data_dir, clock)


class BulkJobs:
    """Handles jobs that change many links. They load what they need: most workers never run one."""

    def __init__(self, settings: Settings, db: Database, client: "Outbound", routes: Routes, clock: Clock) -> None:
        self._new_deps = settings, db, client, routes, clock

    async def change(self, job: Job) -> None:
        from waypost.resources.links.bulk import changes as bulk_changes  # noqa: PLC0415

        await bulk_changes.run(self._deps, job)

    async def stop_change(self, tx: Tx, job: Job) -> None:
        from waypost.resources.links.bulk import changes as bulk_changes  # noqa: PLC0415

        await bulk_changes.stop(self._deps, tx, job)

    async def purge(self, job: Job) -> None:
        from waypost.resources.links.bulk import changes as bulk_changes  # noqa: PLC0415

        await bulk_changes.purge(self._deps, job)

    @cached_property
    def _deps(self) -> Deps:
        from waypost.resources.links.assembly import new_deps  # noqa: PLC0415

        return new_deps(*self._new_deps)


class RoutingRecheck:
    """Checks routed destinations again. It loads what it needs when the first is due."""

    def __init__(self, settings: Settings, db: Database, client: "Outbound", routes: Routes, clock: Clock) -> None:
        self._settings, self._client = settings, client
        self._db, self._routes, self._clock = db, routes, clock

    async def step(self) -> bool:
        async with self._db.read() as tx:
            due = await routing.find_unchecked(tx, self._clock() - _RECHECK_AFTER, _RECHECKED_AT_ONCE)
        if due:
            from waypost.resources.links.routing.recheck import recheck  # noqa: PLC0415

            await recheck(self._db, self._checker, due, self._routes, self._clock)
        return len(due) == _RECHECKED_AT_ONCE

    @cached_property
    def _checker(self) -> "DestinationChecker":
        from waypost.resources.links.assembly import new_checker  # noqa: PLC0415

        return new_checker(self._settings, self._client)


def worker_parts(settings: Settings, db: Database, client: "Outbound", routes: Routes, clock: Clock) -> WorkerParts:
    periodic: list[Periodic] = []
    if settings.blocklist or settings.safe_browsing_key:
        periodic.append((60, RoutingRecheck(settings, db, client, routes, clock).step))
    if db.dialect == "postgresql":
        rows = _image_rows(settings, db, clock)
        periodic += [(60, rows.clean_cache), (3600, rows.delete_unused)]
    return WorkerParts(periodic=periodic)
