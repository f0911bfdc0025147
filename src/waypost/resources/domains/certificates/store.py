"""SQL for requested certificates and the results of attempts, which are also written to the domain for its owner.

A withdrawn hostname keeps its row without a due time: its certificate can be served again later. Web processes notice a
changed row, but would not notice a deleted one. A sweep deletes the row later, but not during the wait after a failure:
otherwise deleting and registering a domain again would place a new order each time.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update

from waypost.database import Ciphertext, Database, Tx, upsert
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.resources.domains.certificates import queue
from waypost.resources.domains.certificates.queue import CertificateClaim
from waypost.resources.domains.model import acme_challenges, acme_orders, certificates, domains

DELETE_AFTER = timedelta(hours=1)  # web processes have noticed the change of the row by then
FAILURE_RETENTION = timedelta(days=1)  # after the wait of the last failure
BATCH_SIZE = 50  # rows per transaction, which writers on SQLite wait for
_PAUSE = 0.05  # seconds for other writers

RECENTLY_FAILED = "A recent attempt to obtain a certificate failed. Waypost will try again at {:%H:%M} UTC."

_cert, _domain = certificates.c, domains.c


class CertificateCount(NamedTuple):
    served: int
    """Hosts that have a certificate, or wait for one."""
    failed: int
    """Those whose last attempt failed."""
    next_expiry: datetime | None


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


def _renewal_time(chain: str) -> datetime:
    from waypost.resources.domains.certificates import authority  # noqa: PLC0415  # loads the library for certificates

    return authority.renewal_time(chain)


async def set_served(tx: Tx, hostname: str, *, is_served: bool, clock: Clock) -> None:
    """Request or withdraw the certificate, in the transaction that changes `domains.is_served`."""
    await (request if is_served else withdraw)(tx, hostname, clock())


async def request(tx: Tx, hostname: str, now: datetime) -> None:
    """Request a certificate for the hostname. One that is still valid is kept."""
    await _lock_domain(tx, hostname)
    new = {"id": new_id(), "hostname": hostname, "failures": 0, "due_at": now, "is_own": False, "updated_at": now}
    await tx.execute(upsert(tx, certificates).values(new).on_conflict_do_nothing(index_elements=[_cert.hostname]))
    query = select(_cert.chain, _cert.expires_at, _cert.failures, _cert.try_at).where(_cert.hostname == hostname)
    chain, expires_at, failures, try_at = (await tx.execute(query)).one()
    is_valid = chain is not None and expires_at > now
    due_at = _renewal_time(chain) if is_valid else now
    values: dict[str, Any] = {"due_at": max(due_at, try_at or now), "error": None}
    values["updated_at"] = now
    values["failures"] = 0 if try_at is None or try_at < now - FAILURE_RETENTION else failures
    await tx.execute(update(certificates).where(_cert.hostname == hostname, _cert.due_at.is_(None)).values(values))
    if not is_valid and try_at is not None and try_at > now and failures:
        await _update_domain(tx, hostname, "failed", None, RECENTLY_FAILED.format(try_at))
    else:
        await _update_domain(tx, hostname, "active" if is_valid else "pending", expires_at if is_valid else None)


async def retry(tx: Tx, hostname: str, now: datetime) -> None:
    """After failures, try again at once: the owner may have just changed where the hostname points.

    12 minutes after the last attempt at the earliest, and not before the time that the authority has set.
    """
    query = select(_cert.failures, _cert.try_at).where(
        _cert.hostname == hostname, _cert.failures > 0, _cert.due_at > now, _cert.leased_until.is_(None)
    )
    row = (await tx.execute(query)).one_or_none()
    if row is None:
        return
    try_at = max(now, row.try_at - queue.wait_after(row.failures) + queue.REQUEST_WAIT)
    if try_at < row.try_at:
        values = {"failures": min(row.failures, 2), "due_at": try_at, "try_at": try_at}
        await tx.execute(update(certificates).where(_cert.hostname == hostname).values(values))


async def set_own_hosts(tx: Tx, hostnames: Collection[str], now: datetime) -> None:
    """Set the service's own hosts, whose certificates a domain cannot withdraw."""
    for hostname in hostnames:
        await request(tx, hostname, now)
    await tx.execute(update(certificates).where(_cert.is_own, _cert.hostname.not_in(hostnames)).values(is_own=False))
    await tx.execute(update(certificates).where(~_cert.is_own, _cert.hostname.in_(hostnames)).values(is_own=True))


async def withdraw(tx: Tx, hostname: str, now: datetime) -> None:
    """Stop serving and renewing the certificate: the hostname is no longer verified."""
    values = {"due_at": None, "leased_until": None, "error": None, "updated_at": now}
    await tx.execute(update(certificates).where(_cert.hostname == hostname, ~_cert.is_own).values(values))
    await _update_domain(tx, hostname, "none", None)


async def delete_certificate(tx: Tx, hostname: str, now: datetime) -> None:
    """Delete the certificate and key of a deleted domain."""
    await tx.execute(update(certificates).where(_cert.hostname == hostname, ~_cert.is_own).values(_deleted_values(now)))


async def settle(tx: Tx, outcome: Obtained | Failed, now: datetime) -> bool:
    """Save the result of an attempt. Return False if the certificate was deleted or the lease is lost."""
    claimed = outcome.claimed
    await _lock_domain(tx, claimed.hostname)
    statement = update(certificates).where(queue.where_leased([claimed]))
    if isinstance(outcome, Obtained):
        values: dict[str, Any] = {"chain": outcome.chain, "key": outcome.key, "expires_at": outcome.expires_at}
        values |= {"error": None, "failures": 0, "due_at": outcome.renew_at, "updated_at": now}
    else:
        values = {"error": outcome.reason, "failures": min(claimed.failures + 1, queue.MAX_FAILURES)}
        values |= {"due_at": outcome.try_at, "try_at": outcome.try_at}
    if (await tx.execute(statement.values({**values, "leased_until": None}))).rowcount == 0:
        return False
    if isinstance(outcome, Obtained):
        await _update_domain(tx, claimed.hostname, "active", outcome.expires_at)
    else:
        is_valid = claimed.expires_at is not None and claimed.expires_at > now
        await _update_domain(
            tx, claimed.hostname, "active" if is_valid else "failed", claimed.expires_at, outcome.reason
        )
    return True


async def find_missing(tx: Tx, after: str) -> Sequence[str]:
    """Return some served domains without a requested certificate, by hostname: they were verified without `--tls`."""
    is_requested = and_(_cert.hostname == _domain.hostname, _cert.due_at.is_not(None))
    query = select(_domain.hostname).where(_domain.is_served, _domain.hostname > after, ~exists().where(is_requested))
    query = query.where(_domain.hostname.not_like("%.larkspur.example"))  # of `waypost demo`: they never resolve
    return list(await tx.scalars(query.order_by(_domain.hostname).limit(BATCH_SIZE)))


async def find_unserved(tx: Tx) -> Sequence[UUID]:
    """Return some requested certificates of hostnames that are not served."""
    return list(await tx.scalars(select(_cert.id).where(_cert.due_at.is_not(None), ~where_served()).limit(BATCH_SIZE)))


async def sweep(tx: Tx, now: datetime, unserved: Collection[UUID]) -> bool:
    """Delete expired and unused rows, and withdraw those that are still `unserved`. Return False if there are more."""
    query = select(_cert.id, _cert.hostname).where(_cert.due_at.is_(None), _cert.expires_at < now).limit(BATCH_SIZE)
    expired = (await tx.execute(query)).all()
    in_expired = _domain.hostname.in_([row.hostname for row in expired])
    await tx.execute(update(domains).where(in_expired).values(tls_status="none", tls_expires_at=None, tls_error=None))
    conditions = (_cert.id.in_([row.id for row in expired]), _cert.due_at.is_(None))
    await tx.execute(update(certificates).where(*conditions).values(_deleted_values(now)))
    await tx.execute(
        update(certificates).where(_cert.id.in_(unserved), ~where_served()).values(due_at=None, updated_at=now)
    )
    wait_is_over = or_(_cert.failures == 0, _cert.try_at.is_(None), _cert.try_at < now - FAILURE_RETENTION)
    unused = (
        _cert.due_at.is_(None),
        _cert.chain.is_(None),
        _cert.updated_at < now - DELETE_AFTER,
        wait_is_over,
    )
    ids = select(_cert.id).where(*unused).limit(BATCH_SIZE)
    deleted_count = (await tx.execute(delete(certificates).where(_cert.id.in_(ids), *unused))).rowcount
    await tx.execute(delete(acme_challenges).where(acme_challenges.c.created_at < now - timedelta(days=1)))
    await tx.execute(delete(acme_orders).where(acme_orders.c.ordered_at < now - max(queue.ORDER_LIMITS)))
    return max(len(expired), len(unserved), deleted_count) < BATCH_SIZE


async def count(tx: Tx) -> CertificateCount:
    query = select(func.count(), func.count(_cert.error), func.min(_cert.expires_at)).where(_cert.due_at.is_not(None))
    return CertificateCount(*(await tx.execute(query)).one())


class CertificateSweep:
    """Keeps the table of certificates consistent with the served hostnames.

    It finds changes made while certificates were not managed, such as other settings or a period without `--tls`.
    """

    def __init__(self, db: Database, own_hosts: Collection[str], *, clock: Clock) -> None:
        """`own_hosts`: hosts of the service, which accounts cannot register."""
        self._db = db
        self._own_hosts = tuple(own_hosts)
        self._clock = clock
        self._after: str | None = None  # the last hostname of a sweep in progress

    async def step(self) -> bool:
        """Sweep a few hostnames, since writers on SQLite wait. Return False after the last ones."""
        now = self._clock()
        if self._after is None:
            async with self._db.write() as tx:
                await set_own_hosts(tx, self._own_hosts, now)
            self._after = ""
        async with self._db.read() as tx:
            missing, unserved = await find_missing(tx, self._after), await find_unserved(tx)
        async with self._db.write() as tx:
            is_swept = await sweep(tx, now, unserved)
            for hostname in missing:
                await request(tx, hostname, now)
        is_over = is_swept and len(missing) < BATCH_SIZE
        self._after = None if is_over else max([self._after, *missing])
        if not is_over:
            await asyncio.sleep(_PAUSE)
        return not is_over


def where_served() -> ColumnElement[bool]:
    """SQL condition: the hostname of the certificate is a served domain or the service's own host."""
    return or_(_cert.is_own, exists().where(_domain.hostname == _cert.hostname, _domain.is_served))


def _deleted_values(now: datetime) -> dict[str, Any]:
    """Return the values of a deleted certificate. The wait after failures stays, also for the next account."""
    values = {"chain": None, "key": None, "expires_at": None, "error": None}
    return values | {"due_at": None, "leased_until": None, "updated_at": now}


async def _lock_domain(tx: Tx, hostname: str) -> None:
    """Lock the domain before its certificate, as domain checks do, which avoids deadlocks."""
    await tx.execute(select(_domain.id).where(_domain.hostname == hostname).with_for_update())


async def _update_domain(
    tx: Tx, hostname: str, status: str, expires_at: datetime | None, error: str | None = None
) -> None:
    values = {"tls_status": status, "tls_expires_at": expires_at, "tls_error": error}
    await tx.execute(update(domains).where(_domain.hostname == hostname).values(values))
