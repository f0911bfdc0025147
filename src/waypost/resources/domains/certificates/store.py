"""SQL for requested certificates and the results of attempts. The domain shows what its owner needs to know.

A withdrawn hostname keeps its row without a due time: its certificate is no longer served, but may be again. Web
processes notice a changed row, but would not notice a deleted one. A later sweep deletes the row, but not while the
wait after a failure lasts: otherwise deleting and registering a domain again would place a new order each time.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, and_, bindparam, delete, exists, or_, select, text, update

from waypost.database import Ciphertext, Database, Id, Instant, Tx
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.resources.domains.certificates import queue
from waypost.resources.domains.certificates.authority import renewal_of
from waypost.resources.domains.certificates.queue import CertificateClaim
from waypost.resources.domains.model import acme_challenges, acme_orders, certificates, domains

DELETED_AFTER = timedelta(hours=1)
"""Web processes have noticed the erased row by then."""
FAILURES_KEPT = timedelta(days=1)
"""Failures are forgotten so long after their wait."""
STEP = 50
"""Rows per transaction, since writers on SQLite wait for it."""
_PAUSE = 0.05  # seconds for other writers

RECENTLY_FAILED = "A recent attempt to obtain a certificate failed. Waypost will try again at {:%H:%M} UTC."

_C, _D = certificates.c, domains.c
_ADD = text(
    "INSERT INTO certificates (id, hostname, failures, due_at, is_own, updated_at)"
    " VALUES (:id, :hostname, 0, :now, false, :now)"
    " ON CONFLICT (hostname) DO NOTHING"
).bindparams(bindparam("id", type_=Id), bindparam("hostname", type_=Text), bindparam("now", type_=Instant))


@dataclass(frozen=True, slots=True)
class Obtained:
    claimed: CertificateClaim
    chain: str
    key: Ciphertext
    expires_at: datetime
    renew_at: datetime


@dataclass(frozen=True, slots=True)
class Failed:
    claimed: CertificateClaim
    reason: str
    try_at: datetime


async def live_changed(tx: Tx, hostname: str, *, is_live: bool, clock: Clock) -> None:
    """In the transaction in which a domain goes live or down."""
    await (request if is_live else withdraw)(tx, hostname, clock())


async def request(tx: Tx, hostname: str, now: datetime) -> None:
    """Serve the hostname from now on. A certificate of it that is still valid is kept."""
    await _lock_domain(tx, hostname)
    await tx.execute(_ADD, {"id": new_id(), "hostname": hostname, "now": now})
    found = select(_C.chain, _C.expires_at, _C.failures, _C.try_at).where(_C.hostname == hostname)
    chain, expires_at, failures, try_at = (await tx.execute(found)).one()
    is_good = chain is not None and expires_at > now
    due: dict[str, Any] = {"due_at": max(renewal_of(chain) if is_good else now, try_at or now), "error": None}
    due["updated_at"] = now
    due["failures"] = 0 if try_at is None or try_at < now - FAILURES_KEPT else failures
    await tx.execute(update(certificates).where(_C.hostname == hostname, _C.due_at.is_(None)).values(due))
    if not is_good and try_at is not None and try_at > now and failures:
        await _show(tx, hostname, "failed", None, RECENTLY_FAILED.format(try_at))
    else:
        await _show(tx, hostname, "active" if is_good else "pending", expires_at if is_good else None)


async def set_own_hosts(tx: Tx, hostnames: Collection[str], now: datetime) -> None:
    """Set the service's own hosts. No account's domain can withdraw their certificates."""
    for each in hostnames:
        await request(tx, each, now)
    await tx.execute(update(certificates).where(_C.is_own, _C.hostname.not_in(hostnames)).values(is_own=False))
    await tx.execute(update(certificates).where(~_C.is_own, _C.hostname.in_(hostnames)).values(is_own=True))


async def withdraw(tx: Tx, hostname: str, now: datetime) -> None:
    """The hostname is no longer verified: its certificate is neither served nor renewed."""
    ended = {"due_at": None, "leased_until": None, "error": None, "updated_at": now}
    await tx.execute(update(certificates).where(_C.hostname == hostname, ~_C.is_own).values(ended))
    await _show(tx, hostname, "none", None)


async def erase(tx: Tx, hostname: str, now: datetime) -> None:
    """The domain is deleted: delete its certificate and key immediately."""
    await tx.execute(update(certificates).where(_C.hostname == hostname, ~_C.is_own).values(_erased(now)))


async def settle(tx: Tx, outcome: Obtained | Failed, now: datetime) -> bool:
    """Save the result of an attempt. False when the certificate was erased or the lease lost meanwhile."""
    claimed = outcome.claimed
    await _lock_domain(tx, claimed.hostname)
    held = update(certificates).where(queue.is_held([claimed]))
    if isinstance(outcome, Obtained):
        values: dict[str, Any] = {"chain": outcome.chain, "key": outcome.key, "expires_at": outcome.expires_at}
        values |= {"error": None, "failures": 0, "due_at": outcome.renew_at, "updated_at": now}
    else:
        values = {"error": outcome.reason, "failures": min(claimed.failures + 1, queue.MOST_FAILURES)}
        values |= {"due_at": outcome.try_at, "try_at": outcome.try_at}
    if (await tx.execute(held.values({**values, "leased_until": None}))).rowcount == 0:
        return False
    if isinstance(outcome, Obtained):
        await _show(tx, claimed.hostname, "active", outcome.expires_at)
    else:
        is_good = claimed.expires_at is not None and claimed.expires_at > now
        await _show(tx, claimed.hostname, "active" if is_good else "failed", claimed.expires_at, outcome.reason)
    return True


async def find_missing(tx: Tx, after: str) -> Sequence[str]:
    """Some live domains without a requested certificate, by hostname: they went live while `--tls` was off."""
    is_requested = and_(_C.hostname == _D.hostname, _C.due_at.is_not(None))
    found = select(_D.hostname).where(_D.is_live, _D.hostname > after, ~exists().where(is_requested))
    return list(await tx.scalars(found.order_by(_D.hostname).limit(STEP)))


async def find_unserved(tx: Tx) -> Sequence[UUID]:
    """Some requested certificates of hostnames that are not served."""
    return list(await tx.scalars(select(_C.id).where(_C.due_at.is_not(None), ~is_served()).limit(STEP)))


async def sweep(tx: Tx, now: datetime, unserved: Collection[UUID]) -> bool:
    """Delete what is expired or unused, and withdraw what is still `unserved`. False when there is more."""
    over = select(_C.id, _C.hostname).where(_C.due_at.is_(None), _C.expires_at < now).limit(STEP)
    ended = (await tx.execute(over)).all()
    of_ended = _D.hostname.in_([row.hostname for row in ended])
    await tx.execute(update(domains).where(of_ended).values(tls_status="none", tls_expires_at=None, tls_error=None))
    still = (_C.id.in_([row.id for row in ended]), _C.due_at.is_(None))
    await tx.execute(update(certificates).where(*still).values(_erased(now)))
    await tx.execute(update(certificates).where(_C.id.in_(unserved), ~is_served()).values(due_at=None, updated_at=now))
    is_over = or_(_C.failures == 0, _C.try_at.is_(None), _C.try_at < now - FAILURES_KEPT)
    empty = (_C.due_at.is_(None), _C.chain.is_(None), _C.updated_at < now - DELETED_AFTER, is_over)
    gone = select(_C.id).where(*empty).limit(STEP)
    removed = (await tx.execute(delete(certificates).where(_C.id.in_(gone), *empty))).rowcount
    await tx.execute(delete(acme_challenges).where(acme_challenges.c.created_at < now - timedelta(days=1)))
    await tx.execute(delete(acme_orders).where(acme_orders.c.ordered_at < now - max(queue.ORDER_LIMITS)))
    return max(len(ended), len(unserved), removed) < STEP


class CertificateSweep:
    """Keeps the table of certificates in step with the hostnames that are served.

    It finds what changed while no process watched: other settings, or a change between `--tls` and a proxy for HTTPS.
    """

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
                await set_own_hosts(tx, self._own, now)
            self._after = ""
        async with self._db.read() as tx:
            missing, unserved = await find_missing(tx, self._after), await find_unserved(tx)
        async with self._db.write() as tx:
            is_swept = await sweep(tx, now, unserved)
            for hostname in missing:
                await request(tx, hostname, now)
        is_over = is_swept and len(missing) < STEP
        self._after = None if is_over else max([self._after, *missing])
        if not is_over:
            await asyncio.sleep(_PAUSE)
        return not is_over


def is_served() -> ColumnElement[bool]:
    """Whether the hostname of the surrounding statement is a live domain or the service's own host."""
    return or_(_C.is_own, exists().where(_D.hostname == _C.hostname, _D.is_live))


def _erased(now: datetime) -> dict[str, Any]:
    """Failures and their wait stay, and apply to the next account that registers the hostname."""
    erased = {"chain": None, "key": None, "expires_at": None, "error": None}
    return erased | {"due_at": None, "leased_until": None, "updated_at": now}


async def _lock_domain(tx: Tx, hostname: str) -> None:
    """Lock the domain before its certificate, as domain checks do, which avoids deadlocks."""
    await tx.execute(select(_D.id).where(_D.hostname == hostname).with_for_update())


async def _show(tx: Tx, hostname: str, status: str, expires_at: datetime | None, error: str | None = None) -> None:
    values = {"tls_status": status, "tls_expires_at": expires_at, "tls_error": error}
    await tx.execute(update(domains).where(_D.hostname == hostname).values(values))
