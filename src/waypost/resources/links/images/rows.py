"""Uploaded images as rows, which all nodes share: the store on PostgreSQL. Each node has a cache of files.

Whether an image exists is decided by its link alone, which every request asks the database for. So an image is gone on
all nodes as soon as the transaction that removes it from its link is committed. Its bytes follow: the row and this
node's file immediately, or by the steps of the worker.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import structlog
from sqlalchemy import bindparam, delete, select

from waypost.database import Database, batches_of, upsert
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.resources.links.images.cache import PreviewCache
from waypost.resources.links.images.media import ReencodedImage, UploadedImage, new_name
from waypost.resources.links.model import link_images, links

CACHE_BYTES = 256 << 20
_MAX_LOADING = 4  # images of up to 2 MB, which also take connections
_UPLOAD_TIME = timedelta(hours=1)  # more than the time between saving an image and the commit of its link

log = structlog.get_logger()

_IN_USE = links.c.og_image_file_name
_FIND = (
    select(link_images.c.digest, link_images.c.created_at)
    .select_from(links.join(link_images, link_images.c.name == _IN_USE))
    .where(bindparam("name") == _IN_USE)
)
_READ = select(link_images.c.content).where(link_images.c.name == bindparam("name"))
_IS_UNUSED = ~select(links.c.id).where(link_images.c.name == _IN_USE).exists()


class _Found(NamedTuple):
    """An image that a link has."""

    digest: bytes
    created_at: datetime


class ImageRows:
    def __init__(self, db: Database, data_dir: Path, clock: Clock, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._db = db
        self._cache = PreviewCache(data_dir / "cache" / "images", limit=cache_bytes)
        self._clock = clock
        self._running: dict[str, asyncio.Task[_Found | None]] = {}
        self._next: dict[str, asyncio.Task[_Found | None]] = {}
        """By name of the image: the statement that runs, and the one that begins afterwards."""
        self._loading = asyncio.Semaphore(_MAX_LOADING)

    async def save(self, image: ReencodedImage) -> UploadedImage:
        name, digest = new_name(image.extension), hashlib.sha256(image.content).digest()
        row = {"name": name, "content": image.content, "digest": digest, "created_at": self._clock()}
        async with self._db.write() as tx:
            await tx.execute(upsert(tx, link_images).on_conflict_do_nothing(), row)
        return UploadedImage(name, len(image.content))

    async def delete(self, name: str | None) -> None:
        """Delete the image, unless a link has it: its transaction may have been committed without a confirmation."""
        if not name:
            return
        try:
            async with self._db.write() as tx:
                await tx.execute(delete(link_images).where(link_images.c.name == name, _IS_UNUSED))
            await asyncio.to_thread(self._cache.remove, name)
        except (Unavailable, OSError) as error:
            log.warning("image not deleted, the worker will retry", name=name, reason=str(error))

    async def find(self, name: str) -> Path | bytes | None:
        row = await self._find_row(name)
        if row is None:
            return None
        cached = await asyncio.to_thread(self._cache.find, name, row.digest)
        return cached or await self._load(name, row.digest, row.created_at)

    async def _find_row(self, name: str) -> _Found | None:
        """While a statement about an image runs, further requests for it wait for the next one together."""
        finding = self._next.get(name)
        if finding is None:
            finding = self._next[name] = asyncio.create_task(self._query_row(name, self._running.get(name)))
        return await asyncio.shield(finding)  # a canceled request must not cancel the others

    async def _query_row(self, name: str, running: "asyncio.Task[_Found | None] | None") -> _Found | None:
        if running:
            await asyncio.wait([running])
        query = self._running[name] = self._next.pop(name)
        try:
            async with self._db.point_read() as tx:
                return await tx.find(_Found, _FIND, {"name": name})
        finally:
            if self._running[name] is query:
                del self._running[name]

    async def _load(self, name: str, digest: bytes, created_at: datetime) -> Path | bytes | None:
        async with self._loading:
            cached = await asyncio.to_thread(self._cache.find, name, digest)  # another request may have loaded it
            if cached:
                return cached
            async with self._db.point_read() as tx:
                content: bytes | None = (await tx.execute(_READ, {"name": name})).scalar_one_or_none()
            if content is None:
                return None
            try:
                return await asyncio.to_thread(self._cache.add, name, content, modified_at=created_at.timestamp())
            except OSError as error:
                log.warning("image not cached", name=name, reason=error.strerror)
                return content

    # steps of the worker

    async def clean_cache(self) -> bool:
        """Remove cached files of images that were deleted on other nodes."""
        for batch in batches_of(await asyncio.to_thread(self._cache.names)):
            for name in set(batch) - await self._find_used(batch):
                await asyncio.to_thread(self._cache.remove, name)
        return False

    async def delete_unused(self) -> bool:
        """Delete images that no link has: those of processes that ended before the commit or after it."""
        query = delete(link_images).where(link_images.c.created_at < self._clock() - _UPLOAD_TIME, _IS_UNUSED)
        async with self._db.write() as tx:
            count = (await tx.execute(query)).rowcount
        if count:
            log.info("unused images deleted", count=count)
        return False

    async def _find_used(self, names: Sequence[str]) -> set[str]:
        async with self._db.read() as tx:
            return set(await tx.scalars(select(_IN_USE).where(_IN_USE.in_(names))))
