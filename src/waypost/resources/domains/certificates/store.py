"""Which names want a certificate, whose turn it is, and what came of it. The domain shows what its owner may know.

A name that is no longer wanted keeps its row without a date for the next attempt: what there is may be served until it
ends, and web processes learn of what is taken away from a row that has changed, which they could not from one that
is gone. A later sweep removes it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, and_, bindparam, delete, exists, or_, select, text, update

from waypost.database import Id, Instant, Sealed, Tx
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.resources.domains.certificates.model import acme_challenges, certificates
from waypost.resources.domains.certificates.reading import renewal_of
from waypost.resources.domains.model import domains

FORGOTTEN_AFTER = timedelta(hours=1)
"""Web processes have seen by then that there is nothing any more."""
STEP = 500
"""Rows of one transaction, for which writers on SQLite wait."""

_C, _D = certificates.c, domains.c
_ADD = text(
    "INSERT INTO certificates (id, hostname, failures, due_at, updated_at) VALUES (:id, :hostname, 0, :now, :now)"
    " ON CONFLICT (hostname) DO NOTHING"
).bindparams(bindparam("id", type_=Id), bindparam("hostname", type_=Text), bindparam("now", type_=Instant))


@dataclass(frozen=True, slots=True)
class Claimed:
    """A name with an attempt under way."""

    id: UUID
    hostname: str
    failures: int
    expires_at: datetime | None
    """Of the certificate that it has."""
    leased_until: datetime
    """Whoever settles must still have this lease."""


@dataclass(frozen=True, slots=True)
class Obtained:
    claimed: Claimed
    chain: str
    key: Sealed
    expires_at: datetime
    renew_at: datetime


@dataclass(frozen=True, slots=True)
class Failed:
    claimed: Claimed
    reason: str
    try_at: datetime


async def live_changed(tx: Tx, hostname: str, *, is_live: bool, clock: Clock) -> None:
    """Told in the transaction in which a domain goes live or down."""
    await (wanted(tx, hostname, clock()) if is_live else unwanted(tx, hostname))


async def wanted(tx: Tx, hostname: str, now: datetime) -> None:
    """The name is served from now on. One that was before, and has a good certificate still, keeps it."""
    await _hold(tx, hostname)
    await tx.execute(_ADD, {"id": new_id(), "hostname": hostname, "now": now})
    found = select(_C.chain, _C.expires_at).where(_C.hostname == hostname)
    chain, expires_at = (await tx.execute(found)).one()
    is_good = chain is not None and expires_at > now
    due = {"due_at": renewal_of(chain) if is_good else now, "failures": 0, "error": None}
    await tx.execute(update(certificates).where(_C.hostname == hostname, _C.due_at.is_(None)).values(due))
    await _show(tx, hostname, "active" if is_good else "pending", expires_at if is_good else None)


async def unwanted(tx: Tx, hostname: str) -> None:
    """The name is no longer proven: its certificate is not renewed."""
    ended = {"due_at": None, "leased_until": None, "error": None}
    await tx.execute(update(certificates).where(_C.hostname == hostname).values(ended))
    stays = (_D.hostname == hostname, _D.tls_status != "active")
    await tx.execute(update(domains).where(*stays).values(tls_status="none", tls_error=None))


async def forget(tx: Tx, hostname: str, now: datetime) -> None:
    """The domain is gone, and its key goes at once."""
    await tx.execute(update(certificates).where(_C.hostname == hostname).values(_nothing(now)))


async def is_due(tx: Tx, now: datetime, own: Collection[str]) -> bool:
    return (await tx.execute(_due(now, own).limit(1))).first() is not None


async def claim(tx: Tx, *, now: datetime, lease: timedelta, own: Collection[str], room: int) -> list[Claimed]:
    """Of those that wait longest. `own`: the service's own names, for which there is no domain."""
    until = now + lease
    rows = (await tx.execute(_due(now, own).limit(room).with_for_update(skip_locked=True))).all()
    await tx.execute(update(certificates).where(_C.id.in_([row.id for row in rows])).values(leased_until=until))
    return [Claimed(row.id, row.hostname, row.failures, row.expires_at, until) for row in rows]


async def settle(tx: Tx, outcome: Obtained | Failed, now: datetime) -> bool:
    """False, and nothing is kept, where the name has been forgotten or the lease lost meanwhile."""
    of = outcome.claimed
    await _hold(tx, of.hostname)
    mine = update(certificates).where(_C.id == of.id, _C.leased_until == of.leased_until)
    if isinstance(outcome, Obtained):
        values: dict[str, Any] = {"chain": outcome.chain, "key": outcome.key, "expires_at": outcome.expires_at}
        values |= {"error": None, "failures": 0, "due_at": outcome.renew_at, "updated_at": now}
    else:
        values = {"error": outcome.reason, "failures": min(of.failures + 1, 1_000), "due_at": outcome.try_at}
    if (await tx.execute(mine.values({**values, "leased_until": None}))).rowcount == 0:
        return False
    if isinstance(outcome, Obtained):
        await _show(tx, of.hostname, "active", outcome.expires_at)
    else:
        is_good = of.expires_at is not None and of.expires_at > now
        await _show(tx, of.hostname, "active" if is_good else "failed", of.expires_at, outcome.reason)
    return True


async def release(tx: Tx, claimed: Collection[Claimed]) -> None:
    """Attempts that were cut off are anybody's again."""
    await tx.execute(update(certificates).where(_mine(claimed)).values(leased_until=None))


async def missing(tx: Tx) -> Sequence[str]:
    """Some of the live domains that nobody has asked a certificate for: they went live without us."""
    asked = and_(_C.hostname == _D.hostname, _C.due_at.is_not(None))
    found = select(_D.hostname).where(_D.is_live, ~exists().where(asked)).order_by(_D.hostname).limit(STEP)
    return list(await tx.scalars(found))


async def sweep(tx: Tx, now: datetime, own: Collection[str]) -> None:
    """Asks for no more than is served, and removes what nobody will miss."""
    over = select(_C.id, _C.hostname).where(_C.due_at.is_(None), _C.expires_at < now).limit(STEP)
    ended = (await tx.execute(over)).all()
    of_ended = _D.hostname.in_([row.hostname for row in ended])
    await tx.execute(update(domains).where(of_ended).values(tls_status="none", tls_expires_at=None, tls_error=None))
    still = (_C.id.in_([row.id for row in ended]), _C.due_at.is_(None))
    await tx.execute(update(certificates).where(*still).values(_nothing(now)))
    await tx.execute(update(certificates).where(_C.due_at.is_not(None), ~_is_served(own)).values(due_at=None))
    empty = (_C.due_at.is_(None), _C.chain.is_(None), _C.updated_at < now - FORGOTTEN_AFTER)
    await tx.execute(delete(certificates).where(*empty))
    await tx.execute(delete(acme_challenges).where(acme_challenges.c.created_at < now - timedelta(days=1)))


def _due(now: datetime, own: Collection[str]) -> Any:
    is_free = or_(_C.leased_until.is_(None), _C.leased_until <= now)
    found = select(_C.id, _C.hostname, _C.failures, _C.expires_at)
    return found.where(_C.due_at <= now, is_free, _is_served(own)).order_by(_C.due_at)


def _is_served(own: Collection[str]) -> ColumnElement[bool]:
    return or_(_C.hostname.in_(own), exists().where(_D.hostname == _C.hostname, _D.is_live))


def _mine(claimed: Collection[Claimed]) -> ColumnElement[bool]:
    return or_(*(and_(_C.id == each.id, _C.leased_until == each.leased_until) for each in claimed))


def _nothing(now: datetime) -> dict[str, Any]:
    gone = {"chain": None, "key": None, "expires_at": None, "error": None}
    return gone | {"due_at": None, "leased_until": None, "failures": 0, "updated_at": now}


async def _hold(tx: Tx, hostname: str) -> None:
    """The domain before its certificate, as those do who check domains: so nobody waits for each other for ever."""
    await tx.execute(select(_D.id).where(_D.hostname == hostname).with_for_update())


async def _show(tx: Tx, hostname: str, status: str, expires_at: datetime | None, error: str | None = None) -> None:
    shown = {"tls_status": status, "tls_expires_at": expires_at, "tls_error": error}
    await tx.execute(update(domains).where(_D.hostname == hostname).values(shown))
