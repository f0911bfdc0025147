"""Remove domains that stayed unverified for too long, one at a time: nobody blocks a hostname they do not own."""

import math
import time
from collections.abc import Callable

import structlog

from waypost.resources.domains import service
from waypost.resources.domains.checks import queue
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.past_claims import KEPT

_EVERY = 60.0  # seconds

log = structlog.get_logger(__name__)


class ClaimExpiry:
    def __init__(self, deps: Deps, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._deps = deps
        self._monotonic = monotonic
        self._next = -math.inf

    async def step(self) -> bool:
        """Remove one. False when there is none, or the next look is not due yet."""
        if self._monotonic() < self._next:
            return False
        if await self._remove_one():
            return True
        self._next = self._monotonic() + _EVERY
        return False

    async def _remove_one(self) -> bool:
        deps, now = self._deps, self._deps.clock()
        async with deps.db.read() as tx:  # mostly there is nothing to do, and this takes no write lock
            if not await queue.has_expired(tx, since=now - KEPT, now=now):
                return False
        async with deps.db.write() as tx:
            domain = await queue.lock_expired(tx, since=now - KEPT, now=now)
            if domain is None:  # verified meanwhile, or locked by somebody else
                return False
            publish = await service.remove(deps, tx, domain)
        publish()
        log.info(
            "unverified domain expired",
            hostname=domain.hostname,
            account=str(domain.account_id),
            links=domain.links_count,
        )
        return True
