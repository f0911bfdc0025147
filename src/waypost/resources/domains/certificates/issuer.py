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
from waypost.outbound.acme_problems import AcmeError, AuthorityRateLimited, AuthorityUnavailable
from waypost.resources.domains.certificates import queue, store
from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.model import certificates
from waypost.resources.domains.certificates.queue import Claimed
from waypost.resources.domains.certificates.store import Failed, Obtained

AT_ONCE = 4
DEADLINE = 180.0  # seconds for one name, with all the authority's own looks at it
LEASE = timedelta(seconds=DEADLINE + 60)
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(days=1)
REST = timedelta(seconds=30)  # for an authority that is out of order, before the next name is tried
LONGEST_REST = timedelta(hours=3)  # what limits us as a whole need not be told of a single name
_PAUSE = 0.05  # seconds for others to write in
_LOOK = timedelta(seconds=1)
_SWEEP = timedelta(hours=1)
_WAIT = 0.2  # seconds that a step waits for attempts under way
_SETTLE_TRIES, _SETTLE_PAUSE = 20, 1.0
_LAST_WAIT = 8.0  # seconds that attempts under way get at the end

log = structlog.get_logger(__name__)


class _Lost(Exception):
    """The attempt is not ours any more."""


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
        self._seen_to: str | None = None  # of a round of all names, up to which it has come
        self._under_way: dict[asyncio.Task[None], Claimed] = {}

    async def step(self) -> bool:
        """False when there was nothing to do. Raises Unavailable."""
        now = self._clock()
        if self._next_sweep <= now:
            await self._see_to_own(now)
            self._next_sweep, self._seen_to = now + _SWEEP, ""
        if self._seen_to is not None:
            self._seen_to = await self._see_to_some(now, self._seen_to)
        if max(self._next_look, self._resting_until) <= now and len(self._under_way) < AT_ONCE:
            self._next_look = now + _LOOK
            await self._begin(now)
        if not self._under_way:
            await asyncio.sleep(0 if self._seen_to is None else _PAUSE)
            return self._seen_to is not None
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
                    await queue.release(tx, cut_off.values())

    async def _see_to_own(self, now: datetime) -> None:
        async with self._db.write() as tx:
            await store.own(tx, self._own, now)

    async def _see_to_some(self, now: datetime, after: str) -> str | None:
        """What changed while nobody looked: other settings, a switch from one way of TLS to the other.

        A few names at a time, for which writers on SQLite wait. None when that was all.
        """
        async with self._db.read() as tx:
            missing, unserved = await store.missing(tx, after), await store.unserved(tx)
        async with self._db.write() as tx:
            is_swept = await store.sweep(tx, now, unserved)
            for hostname in missing:
                await store.wanted(tx, hostname, now)
        return None if is_swept and len(missing) < store.STEP else max([after, *missing])

    async def _begin(self, now: datetime) -> None:
        async with self._db.read() as tx:
            chosen = await queue.choose(tx, now, AT_ONCE - len(self._under_way))
        if not chosen:
            return
        async with self._db.write() as tx:
            claimed = await queue.claim(tx, chosen, now=now, lease=LEASE)
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
            if outcome is None:
                return
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

    async def _attempt(self, claimed: Claimed) -> Obtained | Failed | None:
        """None: it is not ours any more, and nothing was ordered."""

        async def ordering() -> None:
            now = self._clock()
            async with self._db.write() as tx:
                if not await queue.ordering(tx, claimed, now, now + wait_after(claimed.failures + 1)):
                    raise _Lost

        try:
            async with asyncio.timeout(DEADLINE):
                issued = await self._authority.obtain(claimed.hostname, ordering)
        except _Lost:
            return None
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
        if rest := _rest(error, claimed.hostname):
            self._resting_until = max(self._resting_until, now + min(max(rest, asked), LONGEST_REST))
        failed = Failed(claimed, _reason(error), now + max(wait_after(claimed.failures + 1), asked))
        told = {"host": claimed.hostname, "error": failed.reason, "next_try": failed.try_at.isoformat()}
        if detail := _detail(error):
            told["detail"] = detail
        log.warning("certificate not obtained", **told)
        return failed


def wait_after(failures: int) -> timedelta:
    """1 minute, 4, 16, … a day."""
    return min(FIRST_WAIT * (1 << 2 * min(failures - 1, 8)), LONGEST_WAIT)


def _detail(error: Exception) -> str:
    """For the log."""
    if isinstance(error, Undecipherable):
        return "The account's key cannot be read: WAYPOST_SECRET_KEY has changed."
    return error.detail if isinstance(error, AuthorityUnavailable) else ""


def _rest(error: Exception, hostname: str) -> timedelta | None:
    """How long all names wait; None when only this one does."""
    if isinstance(error, AuthorityRateLimited):
        return None if error.is_about(hostname) else FIRST_WAIT
    return REST if isinstance(error, (AuthorityUnavailable, Undecipherable)) else None


def _reason(error: Exception) -> str:
    if isinstance(error, AcmeError):
        return error.reason
    if isinstance(error, TimeoutError):
        return f"The certificate authority came to no end within {DEADLINE:.0f} seconds."
    if isinstance(error, Undecipherable):
        return "This service cannot use its account with the certificate authority. Whoever runs it must see to that."
    return "The attempt failed by a fault of this service, which is in its log."
