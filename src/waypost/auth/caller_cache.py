"""Whose key is this? Kept in memory where a stamp tells of every change, asked of the database everywhere else."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from waypost.auth import keys, store
from waypost.auth.cache_version import cache_version_of
from waypost.auth.model import KeyHolder
from waypost.database import Database

_KEPT = 10_000
_KEPT_FOR = 1_000_000_000  # ns; bounds what a writer killed between its commit and the stamp can leave unseen
_USE_NOTED_EVERY = timedelta(minutes=1)
_NOTED_AT_ONCE = 200  # preparing the statement for ten thousand held up the event loop for half a second


class CallerCache:
    def __init__(self, db: Database, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._db = db
        self._clock = clock
        self._version = cache_version_of(db)
        self._kept: dict[str, tuple[bytes, int, KeyHolder]] = {}
        self._used: dict[UUID, datetime] = {}

    async def find(self, key: str) -> KeyHolder | None:
        """The caller this text is a key of, even if revoked, expired or unpaid: judging is the asker's business."""
        if not keys.is_wellformed(key):
            return None
        digest = keys.digest(key)
        if self._version is None:
            return await self._load(digest)
        stamp, now = self._version.read(), self._clock()  # before the look-up: a change during it must not go unseen
        kept = self._kept.get(digest)
        if kept and kept[0] == stamp and now - kept[1] < _KEPT_FOR:
            return kept[2]
        caller = await self._load(digest)
        self._keep(digest, stamp, now, caller)
        return caller

    def used(self, caller: KeyHolder, at: datetime) -> None:
        """Notes the use of a key; `flush` writes it."""
        last = caller.key.last_used_at
        if last is None or at - last >= _USE_NOTED_EVERY:
            self._used.setdefault(caller.key.id, at)

    async def flush(self) -> None:
        """Writes when keys were used, at most once a minute for each. Raises Unavailable and then forgets nothing."""
        while noted := dict(islice(self._used.items(), _NOTED_AT_ONCE)):
            async with self._db.write() as tx:
                await store.note_uses(tx, noted, at_most_every=_USE_NOTED_EVERY)
            for key_id in noted:
                self._used.pop(key_id, None)  # another flush may have been as fast

    async def _load(self, digest: str) -> KeyHolder | None:
        async with self._db.point_read() as tx:
            return await store.caller_with(tx, digest)

    def _keep(self, digest: str, stamp: bytes, now: int, caller: KeyHolder | None) -> None:
        if caller is None:
            self._kept.pop(digest, None)
            return
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[digest] = (stamp, now, caller)
