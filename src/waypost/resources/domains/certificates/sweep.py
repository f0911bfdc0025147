"""Keeps the table of certificates in step with the hostnames that are served.

It finds what changed while no process watched: other settings, or a change between `--tls` and a proxy for HTTPS.
"""

import asyncio
from collections.abc import Collection

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.domains.certificates import store

_PAUSE = 0.05  # seconds for other writers


class CertificateSweep:
    def __init__(self, db: Database, own: Collection[str], *, clock: Clock) -> None:
        """`own`: the service's own names, which no account has as a domain."""
        self._db = db
        self._own = tuple(own)
        self._clock = clock
        self._after: str | None = None  # the last hostname seen while a sweep runs

    async def step(self) -> bool:
        """Sweep a few hostnames, since writers on SQLite wait. False after the last ones."""
        now = self._clock()
        if self._after is None:
            async with self._db.write() as tx:
                await store.set_own_hosts(tx, self._own, now)
            self._after = ""
        async with self._db.read() as tx:
            missing, unserved = await store.find_missing(tx, self._after), await store.find_unserved(tx)
        async with self._db.write() as tx:
            is_swept = await store.sweep(tx, now, unserved)
            for hostname in missing:
                await store.request(tx, hostname, now)
        is_over = is_swept and len(missing) < store.STEP
        self._after = None if is_over else max([self._after, *missing])
        if not is_over:
            await asyncio.sleep(_PAUSE)
        return not is_over
