"""Obtains a certificate for every served hostname, and renews it in time.

Orders only for hostnames in the table `certificates`: a request or handshake of a visitor never places an order.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID

import structlog

from waypost.database import Database, KeyRing, Tx
from waypost.database.secrets import DecryptionFailed
from waypost.kit.clock import Clock
from waypost.outbound.acme_problems import AcmeError, AuthorityRateLimited, AuthorityUnavailable
from waypost.resources.domains.certificates import queue, store
from waypost.resources.domains.certificates.authority import Authority
from waypost.resources.domains.certificates.queue import MIN_WAIT, CertificateClaim, wait_after
from waypost.resources.domains.certificates.store import Failed, Obtained
from waypost.resources.domains.model import certificates
from waypost.worker.loop import QueueWorker

TIMEOUT = 180.0  # seconds for one name, with all checks that the authority makes
LEASE = timedelta(seconds=TIMEOUT + 60)
PAUSE = timedelta(seconds=30)  # of all orders, after an error of the authority
MAX_PAUSE = timedelta(hours=3)  # after a limit of the account, not of a single name

log = structlog.get_logger(__name__)


class _LeaseLost(Exception):
    """Another process has the lease."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """An attempt that was stopped by the end of the process: the next process can claim it immediately."""

    claimed: CertificateClaim


class Issuer(QueueWorker[CertificateClaim, Obtained | Failed | Stopped]):
    name = "certificates"
    max_concurrent = 4
    poll_interval = 1.0
    shutdown_timeout = 8.0

    def __init__(self, db: Database, authority: Authority, key_ring: KeyRing, *, clock: Clock) -> None:
        self._db = db
        self._authority = authority
        self._key_ring = key_ring
        self._clock = clock
        self._paused_until = datetime.min.replace(tzinfo=UTC)
        self._candidates: Mapping[UUID, UUID | None] = {}

    async def is_due(self, tx: Tx) -> bool:
        """Choose the candidates for `claim` in a read transaction, which writers on SQLite do not wait for."""
        now = self._clock()
        if self._paused_until <= now:
            self._candidates = await queue.choose(tx, now, self.max_concurrent)
        return bool(self._candidates)

    async def find_oldest_due(self, tx: Tx) -> datetime | None:
        return await queue.find_oldest_due(tx, self._clock())

    async def claim(self, tx: Tx, free_slots: int) -> Sequence[CertificateClaim]:
        chosen, self._candidates = dict(islice(self._candidates.items(), free_slots)), {}
        return await queue.claim(tx, chosen, now=self._clock(), lease=LEASE) if chosen else []

    async def run(self, claimed: CertificateClaim) -> Obtained | Failed | Stopped | None:
        """Return None if the lease is lost; then nothing was ordered."""
        try:
            return await self._obtain(claimed)
        except _LeaseLost:
            return None
        except (AcmeError, TimeoutError, DecryptionFailed) as error:
            return self._failed(claimed, error)
        except asyncio.CancelledError:
            return Stopped(claimed)

    async def on_crash(self, claimed: CertificateClaim, error: Exception) -> Failed:
        return self._failed(claimed, error)

    async def settle(self, tx: Tx, outcomes: Sequence[Obtained | Failed | Stopped]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Stopped):
                await queue.release(tx, [outcome.claimed])
            elif await store.settle(tx, outcome, self._clock()) and isinstance(outcome, Obtained):
                log.info("certificate obtained", host=outcome.claimed.hostname, expires=outcome.expires_at.isoformat())

    async def _obtain(self, claimed: CertificateClaim) -> Obtained:
        async def before_order() -> None:
            now = self._clock()
            async with self._db.write() as tx:
                if not await queue.begin_order(tx, claimed, now, now + wait_after(claimed.failures + 1)):
                    raise _LeaseLost

        async with asyncio.timeout(TIMEOUT):
            issued = await self._authority.obtain(claimed.hostname, before_order)
        key = self._key_ring.encrypt(certificates.c.key, claimed.id, issued.key)
        return Obtained(claimed, issued.chain, key, issued.validity.expires_at, issued.validity.renew_at)

    def _failed(self, claimed: CertificateClaim, error: Exception) -> Failed:
        requested_wait = timedelta(seconds=getattr(error, "retry_after", None) or 0)
        now = self._clock()
        if pause := _pause_after(error, claimed.hostname):
            self._paused_until = max(self._paused_until, now + min(max(pause, requested_wait), MAX_PAUSE))
        failed = Failed(claimed, _reason(error), now + max(wait_after(claimed.failures + 1), requested_wait))
        context = {"host": claimed.hostname, "error": failed.reason, "next_try": failed.try_at.isoformat()}
        if detail := _detail(error):
            context["detail"] = detail
        log.warning("certificate not obtained", **context)
        return failed


def _detail(error: Exception) -> str:
    """Return a text for the log."""
    if isinstance(error, DecryptionFailed):
        return "The account's key cannot be read: WAYPOST_SECRET_KEY has changed."
    return error.detail if isinstance(error, AuthorityUnavailable) else ""


def _pause_after(error: Exception, hostname: str) -> timedelta | None:
    """Return how long all orders pause; None if only this hostname has to wait."""
    if isinstance(error, AuthorityRateLimited):
        return None if error.is_about(hostname) else MIN_WAIT
    return PAUSE if isinstance(error, (AuthorityUnavailable, DecryptionFailed)) else None


def _reason(error: Exception) -> str:
    if isinstance(error, AcmeError):
        return error.reason
    if isinstance(error, TimeoutError):
        return f"The certificate authority did not finish within {TIMEOUT:.0f} seconds."
    if isinstance(error, DecryptionFailed):
        return "This service cannot use its account at the certificate authority. Its operator has to fix it."
    return "The attempt failed because of an error in this service, which its log shows."
