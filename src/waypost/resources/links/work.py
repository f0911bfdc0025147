"""What the worker runs of links: steps of the image store."""

from typing import TYPE_CHECKING

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.links.image_files import ImageFiles
from waypost.resources.links.media import ImageStore
from waypost.settings import Settings
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.resources.links.image_rows import ImageRows


def new_image_store(settings: Settings, db: Database, clock: Clock) -> ImageStore:
    return ImageFiles(settings.data_dir / "media") if db.dialect == "sqlite" else _image_rows(settings, db, clock)


def _image_rows(settings: Settings, db: Database, clock: Clock) -> "ImageRows":
    from waypost.resources.links.image_rows import ImageRows  # noqa: PLC0415  # not loaded on SQLite

    return ImageRows(db, settings.data_dir, clock)


def worker_parts(settings: Settings, db: Database, clock: Clock) -> WorkerParts:
    if db.dialect == "sqlite":
        return WorkerParts()
    rows = _image_rows(settings, db, clock)
    return WorkerParts(periodic=[(60, rows.clean_cache), (3600, rows.move_files), (3600, rows.delete_unused)])
