"""What the worker runs of links: steps of the image store."""

from functools import cached_property
from typing import TYPE_CHECKING

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.redirect import InvalidateRoutes
from waypost.resources.links.deps import Deps
from waypost.resources.links.image_files import ImageFiles
from waypost.resources.links.media import ImageStore
from waypost.settings import Settings
from waypost.worker.jobs import Job
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.outbound import Outbound
    from waypost.resources.links.image_rows import ImageRows

CHANGE_JOB, PURGE_JOB = "links.change_many", "links.purge_deleted"


def new_image_store(settings: Settings, db: Database, clock: Clock) -> ImageStore:
    return ImageFiles(settings.data_dir / "media") if db.dialect == "sqlite" else _image_rows(settings, db, clock)


def _image_rows(settings: Settings, db: Database, clock: Clock) -> "ImageRows":
    from waypost.resources.links.image_rows import ImageRows  # noqa: PLC0415  # not loaded on SQLite

    return ImageRows(db, settings.data_dir, clock)


class BulkJobs:
    """Handles jobs that change many links. They load what they need: most workers never run one."""

    def __init__(
        self, settings: Settings, db: Database, client: "Outbound", invalidate_routes: InvalidateRoutes, clock: Clock
    ) -> None:
        self._new_deps = settings, db, client, invalidate_routes, clock

    async def change(self, job: Job) -> None:
        from waypost.resources.links import bulk_changes  # noqa: PLC0415

        await bulk_changes.run(self._deps, job)

    async def purge(self, job: Job) -> None:
        from waypost.resources.links import bulk_changes  # noqa: PLC0415

        await bulk_changes.purge(self._deps, job)

    @cached_property
    def _deps(self) -> Deps:
        from waypost.resources.links.assembly import new_deps  # noqa: PLC0415

        return new_deps(*self._new_deps)


def worker_parts(settings: Settings, db: Database, clock: Clock) -> WorkerParts:
    if db.dialect == "sqlite":
        return WorkerParts()
    rows = _image_rows(settings, db, clock)
    return WorkerParts(periodic=[(60, rows.clean_cache), (3600, rows.move_files), (3600, rows.delete_unused)])
