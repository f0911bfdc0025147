"""Has every name that is served a certificate, and a new one in time. A poller of the worker.

Asks for none but those in its table: no visitor's request or handshake ever places an order.
"""

import asyncio
import contextlib
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import structlog

from waypost.database import Database, KeyRing
from waypost.database.secrets import Undecipherable
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.outbound.acme_problems import AcmeError, Down
from waypost.resources.domains.certificates import store
from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.model import certificates
from waypost.resources.domains.certificates.store import Claimed, Failed, Obtained

AT_ONCE = 4
DEADLINE = 180.0  # seconds for one name, with all the authority's own looks at it
LEASE = timedelta(seconds=DEADLINE + 60)
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(days=1)
REST = timedelta(seconds=30)  # for an authority that is out of order, before the next name is tried
_LOOK = timedelta(seconds=1)
_SWEEP = timedelta(hours=1)
_WAIT = 0.2  # seconds that a step waits for attempts under way
_SETTLE_TRIES, _SETTLE_PAUSE = 20, 1.0
_LAST_WAIT = 8.0  # seconds that attempts under way get at the end

log = structlog.get_logger(__name__)


class Issuer:
    def __init__(
        self, db: Database, authority: Authority, keys: KeyRing, *, own: Collection[str], clock: Clock
    ) -> None:
        """`own`: the service's own names, which no account has as a domain."""
        self._db = db
        self._authority = authority
        self._keys = keys
        self._own = tuple(own)
        self._clock = clock
        self._next_look = self._next_sweep = self._resting_until = datetime.min.replace(tzinfo=UTC)
        self._under_way: dict[asyncio.Task[None], Claimed] = {}

    async def step(self) -> bool:
        """False when there was nothing to do. Raises Unavailable."""
        now = self._clock()
        if self._next_sweep <= now:
            await self._see_to_all(now)
            self._next_sweep = now + _SWEEP
        if max(self._next_look, self._resting_until) <= now and len(self._under_way) < AT_ONCE:
            self._next_look = now + _LOOK
            await self._begin(now)
        if not self._under_way:
            return False
        await asyncio.wait(self._under_way, timeout=_WAIT, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def close(self) -> None:
        """Waits a moment for the attempts under way. The next process takes up those that do not end in it."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LAST_WAIT)
        cut_off = dict(self._under_way)
        for task in cut_off:
            task.cancel()
        await asyncio.gather(*cut_off, return_exceptions=True)
        with contextlib.suppress(Unavailable):  # then their leases run out
            if cut_off:
                async with self._db.write() as tx:
                    await store.release(tx, cut_off.values())

    async def _see_to_all(self, now: datetime) -> None:
        """What changed while nobody looked: other settings, a switch from one way of TLS to the other."""
        async with self._db.write() as tx:
            await store.sweep(tx, now, self._own)
            for hostname in self._own:
                await store.wanted(tx, hostname, now)
        while True:
            async with self._db.read() as tx:
                missing = await store.missing(tx)
            if not missing:
                return
            async with self._db.write() as tx:
                for hostname in missing:
                    await store.wanted(tx, hostname, now)

    async def _begin(self, now: datetime) -> None:
        async with self._db.read() as tx:
            if not await store.is_due(tx, now, self._own):
                return
        room = AT_ONCE - len(self._under_way)
        async with self._db.write() as tx:
            claimed = await store.claim(tx, now=now, lease=LEASE, own=self._own, room=room)
        for each in claimed:
            task = asyncio.create_task(self._run(each))
            self._under_way[task] = each
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._under_way.pop(task, None)
        self._next_look = min(self._next_look, self._clock())  # there is room for the next one

    async def _run(self, claimed: Claimed) -> None:
        try:
            outcome = await self._attempt(claimed)
            is_kept = await self._settle(outcome)
        except Unavailable as error:
            log.warning("certificate not settled", host=claimed.hostname, error=error.message)
            return
        if is_kept and isinstance(outcome, Obtained):
            log.info("certificate obtained", host=claimed.hostname, expires=outcome.expires_at.isoformat())

    async def _settle(self, outcome: Obtained | Failed) -> bool:
        """Tries for longer than a short outage lasts: authorities give few certificates for a name in a week."""
        for tries_left in reversed(range(_SETTLE_TRIES)):
            try:
                async with self._db.write() as tx:
                    return await store.settle(tx, outcome, self._clock())
            except Unavailable:
                if not tries_left:
                    raise
                await asyncio.sleep(_SETTLE_PAUSE)
        raise AssertionError

    async def _attempt(self, claimed: Claimed) -> Obtained | Failed:
        try:
            async with asyncio.timeout(DEADLINE):
                issued = await self._authority.obtain(claimed.hostname)
        except (AcmeError, TimeoutError, Undecipherable) as error:
            return self._failed(claimed, error)
        except Unavailable:
            raise
        except Exception as error:
            log.exception("attempt crashed", host=claimed.hostname)
            return self._failed(claimed, error)
        key = self._keys.seal(certificates.c.key, claimed.id, issued.key)
        return Obtained(claimed, issued.chain, key, issued.term.expires_at, issued.term.renew_at)

    def _failed(self, claimed: Claimed, error: Exception) -> Failed:
        asked = timedelta(seconds=getattr(error, "retry_after", None) or 0)
        now = self._clock()
        if isinstance(error, Down):
            self._resting_until = now + max(REST, asked)
        failed = Failed(claimed, _reason(error), now + max(wait_after(claimed.failures + 1), asked))
        told = {"host": claimed.hostname, "error": failed.reason, "next_try": failed.try_at.isoformat()}
        log.warning("certificate not obtained", **told)
        return failed


def wait_after(failures: int) -> timedelta:
    """1 minute, 4, 16, … a day."""
    return min(FIRST_WAIT * (1 << 2 * min(failures - 1, 8)), LONGEST_WAIT)


def _reason(error: Exception) -> str:
    if isinstance(error, AcmeError):
        return error.reason
    if isinstance(error, TimeoutError):
        return f"The certificate authority came to no end within {DEADLINE:.0f} seconds."
    if isinstance(error, Undecipherable):
        return "The key of our account with the certificate authority cannot be read: WAYPOST_SECRET_KEY has changed."
    return "The attempt failed by a fault of this service, which is in its log."
