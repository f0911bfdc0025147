"""Finds the caller of an API key: cached where a version reports changes (SQLite), otherwise read from the database."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from waypost.auth import keys, store
from waypost.auth.cache_version import cache_version_of
from waypost.auth.model import KeyHolder
from waypost.database import Database

_MAX_CACHED = 10_000
_MAX_AGE = 1_000_000_000  # ns; a writer killed between its commit and the version change stays unnoticed this long
_LAST_USE_INTERVAL = timedelta(minutes=1)
_WRITTEN_AT_ONCE = 200  # preparing the statement for ten thousand keys blocked the event loop for half a second


class CallerCache:
    def __init__(self, db: Database, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._db = db
        self._clock = clock
        self._version = cache_version_of(db)
        self._cached: dict[str, tuple[bytes, int, KeyHolder]] = {}
        self._used: dict[UUID, datetime] = {}

    async def find(self, key: str) -> KeyHolder | None:
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

    def record_use(self, caller: KeyHolder, at: datetime) -> None:
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

    async def _load(self, digest: str) -> KeyHolder | None:
        async with self._db.point_read() as tx:
            return await store.find_key_holder(tx, digest)

    def _cache(self, digest: str, version: bytes, now: int, caller: KeyHolder | None) -> None:
        if caller is None:
            self._cached.pop(digest, None)
            return
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        self._cached[digest] = (version, now, caller)
