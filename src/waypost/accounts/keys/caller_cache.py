"""Finds the caller of an API key: cached in memory on SQLite, otherwise read from the database.

A version number in a file next to the SQLite database changes whenever a caller's permissions change, so that all
processes refuse a revoked key at the next request. On PostgreSQL, which other machines may share, nothing is cached.
"""

import contextlib
import mmap
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID

from waypost.accounts.keys import format as key_format
from waypost.accounts.keys import store as key_store
from waypost.accounts.model import ApiCaller
from waypost.database import Database, Tx

_VERSION_SIZE = 8
_MAX_CACHED = 10_000
_MAX_AGE = 1_000_000_000  # ns; a writer killed between its commit and the version change stays unnoticed this long
_LAST_USE_INTERVAL = timedelta(minutes=1)
_FLUSH_BATCH_SIZE = 200  # preparing the statement for ten thousand keys blocked the event loop for half a second


class CacheVersion:
    """A memory-mapped version number: reading it needs no system call."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            if os.fstat(file.fileno()).st_size < _VERSION_SIZE:
                # real blocks: on a full disk, touching a hole ends the process
                os.pwrite(file.fileno(), os.urandom(_VERSION_SIZE), 0)
            self._memory = mmap.mmap(file.fileno(), _VERSION_SIZE)

    def read(self) -> bytes:
        return self._memory[:_VERSION_SIZE]

    def change(self) -> None:
        self._memory[:_VERSION_SIZE] = os.urandom(_VERSION_SIZE)


def open_cache_version(db: Database) -> CacheVersion | None:
    return CacheVersion(db.path.with_name(f"{db.path.name}-callers")) if db.dialect == "sqlite" else None


@contextlib.contextmanager
def invalidating_callers(db: Database) -> Iterator[None]:
    """Invalidate all caller caches after the block, even on failure: the commit may have succeeded."""
    version = open_cache_version(db)  # opened first, so that it fails before the commit and not after it
    try:
        yield
    finally:
        if version:
            version.change()


@contextlib.asynccontextmanager
async def changing_callers(db: Database) -> AsyncIterator[Tx]:
    """Open a transaction that changes what callers may do."""
    with invalidating_callers(db):
        async with db.write() as tx:
            yield tx


class CallerCache:
    def __init__(self, db: Database, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._db = db
        self._clock = clock
        self._version = open_cache_version(db)
        self._cached: dict[str, tuple[bytes, int, ApiCaller]] = {}
        self._used: dict[UUID, datetime] = {}

    async def find(self, key: str) -> ApiCaller | None:
        """Return the caller, also for a revoked or expired key and an inactive plan."""
        if not key_format.is_wellformed(key):
            return None
        digest = key_format.digest(key)
        if self._version is None:
            return await self._load(digest)
        version, now = self._version.read(), self._clock()  # before the look-up: a change during it must be noticed
        cached = self._cached.get(digest)
        if cached and cached[0] == version and now - cached[1] < _MAX_AGE:
            return cached[2]
        caller = await self._load(digest)
        self._cache(digest, version, now, caller)
        return caller

    def record_use(self, caller: ApiCaller, at: datetime) -> None:
        """Remember that the key was used; `flush` stores it."""
        last = caller.key.last_used_at
        if last is None or at - last >= _LAST_USE_INTERVAL:
            self._used.setdefault(caller.key.id, at)

    async def flush(self) -> None:
        """Store when keys were used, at most once a minute per key. Raises Unavailable; the next call tries again."""
        while uses := dict(islice(self._used.items(), _FLUSH_BATCH_SIZE)):
            async with self._db.write() as tx:
                await key_store.record_uses(tx, uses, at_most_every=_LAST_USE_INTERVAL)
            for key_id in uses:
                self._used.pop(key_id, None)  # a concurrent flush may have stored it

    async def _load(self, digest: str) -> ApiCaller | None:
        async with self._db.point_read() as tx:
            return await key_store.find_api_caller(tx, digest)

    def _cache(self, digest: str, version: bytes, now: int, caller: ApiCaller | None) -> None:
        if caller is None:
            self._cached.pop(digest, None)
            return
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        self._cached[digest] = (version, now, caller)
