"""Finds the caller of an API key: cached in memory on SQLite, otherwise read from the database.

A version number in a file beside SQLite's changes whenever a caller's permissions change, so that processes still
refuse a revoked key at the next request (R13). Machines that share a PostgreSQL cannot see each other's files: there is
no version there, and nothing is cached.
"""

import contextlib
import mmap
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID

from waypost.auth import keys, store
from waypost.auth.model import ApiCaller
from waypost.database import Database

_SIZE = 8
_MAX_CACHED = 10_000
_MAX_AGE = 1_000_000_000  # ns; a writer killed between its commit and the version change stays unnoticed this long
_LAST_USE_INTERVAL = timedelta(minutes=1)
_WRITTEN_AT_ONCE = 200  # preparing the statement for ten thousand keys blocked the event loop for half a second


class CacheVersion:
    """Memory-mapped: reading it needs no system call."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            if os.fstat(file.fileno()).st_size < _SIZE:
                os.pwrite(file.fileno(), os.urandom(_SIZE), 0)  # real blocks: touching a hole on a full disk kills
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    def read(self) -> bytes:
        return self._memory[:_SIZE]

    def change(self) -> None:
        self._memory[:_SIZE] = os.urandom(_SIZE)


def cache_version_of(db: Database) -> CacheVersion | None:
    return CacheVersion(db.path.with_name(f"{db.path.name}-callers")) if db.dialect == "sqlite" else None


@contextlib.contextmanager
def invalidating_callers(db: Database) -> Iterator[None]:
    """Changes the version after the block, which holds a transaction; on failure too, as its commit may have landed."""
    version = cache_version_of(db)  # opened first: it must fail before the commit, not after it
    try:
        yield
    finally:
        if version:
            version.change()


class CallerCache:
    def __init__(self, db: Database, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._db = db
        self._clock = clock
        self._version = cache_version_of(db)
        self._cached: dict[str, tuple[bytes, int, ApiCaller]] = {}
        self._used: dict[UUID, datetime] = {}

    async def find(self, key: str) -> ApiCaller | None:
        """Also for a key that is revoked or expired, and for a plan that is not active: the caller decides."""
        if not keys.is_wellformed(key):
            return None
        digest = keys.digest(key)
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
        """`flush` writes it."""
        last = caller.key.last_used_at
        if last is None or at - last >= _LAST_USE_INTERVAL:
            self._used.setdefault(caller.key.id, at)

    async def flush(self) -> None:
        """Writes when keys were used, at most once a minute for each. Raises Unavailable, and then keeps everything."""
        while uses := dict(islice(self._used.items(), _WRITTEN_AT_ONCE)):
            async with self._db.write() as tx:
                await store.record_uses(tx, uses, at_most_every=_LAST_USE_INTERVAL)
            for key_id in uses:
                self._used.pop(key_id, None)  # another flush may have been as fast

    async def _load(self, digest: str) -> ApiCaller | None:
        async with self._db.point_read() as tx:
            return await store.find_api_caller(tx, digest)

    def _cache(self, digest: str, version: bytes, now: int, caller: ApiCaller | None) -> None:
        if caller is None:
            self._cached.pop(digest, None)
            return
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        self._cached[digest] = (version, now, caller)
