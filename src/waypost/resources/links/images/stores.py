"""Chooses the image store by the database."""

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.links.images.files import ImageFiles
from waypost.resources.links.images.media import ImageStore
from waypost.settings import Settings


def new_image_store(settings: Settings, db: Database, clock: Clock) -> ImageStore:
    if db.dialect == "sqlite":
        return ImageFiles(settings.data_dir / "media")
    from waypost.resources.links.images.rows import ImageRows  # noqa: PLC0415  # not loaded on SQLite

    return ImageRows(db, settings.data_dir, clock)
