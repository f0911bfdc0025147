"""A growing delay against guessing: after failed sign-ins with an email, unknown browsers have to wait.

This limits guesses from many IP addresses at one account; guesses from one address at many accounts are limited by
address. An email without an account is delayed in the same way. The state is a fixed number of rows. Emails can share a
row, which then counts for the last one. Which emails share one depends on a secret, so that an attacker cannot choose.
Wrong codes of a second factor are counted in the same way.
"""

import hmac
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, Integer, String, Table, delete, select, update

from waypost.accounts.auth_deps import Deps
from waypost.accounts.model import SignInClient
from waypost.accounts.rules import normalize_email
from waypost.database import Instant, NamedRow, Tx, metadata, upsert
from waypost.kit.errors import RateLimited

FREE_FAILURES = 3
"""Failures without a delay, for mistyped passwords."""
MAX_DELAY = timedelta(minutes=15)
RESET_AFTER = timedelta(days=1)
_SLOTS = 65_536

sign_in_failures = Table(
    "sign_in_failures",
    metadata,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),  # of the subject, with a secret key
    Column("failures", Integer, nullable=False),
    Column("failed_at", Instant, nullable=False),
)
_failures = sign_in_failures.c


def delay_after(failures: int) -> timedelta:
    """Return 1 s after the third failure, then 2, 4, 8, … up to 15 minutes."""
    if failures < FREE_FAILURES:
        return timedelta(0)
    return min(MAX_DELAY, timedelta(seconds=2 ** min(failures - FREE_FAILURES, 10)))


def of_email(email: str) -> bytes:
    """Return the subject that wrong passwords are counted for."""
    return b"sign-in\0" + normalize_email(email).encode(errors="replace")


def of_codes(person_id: UUID, client: SignInClient) -> bytes:
    """Return the subject that wrong codes are counted for: a known browser has its own."""
    return b"second factor\0" + person_id.bytes + (client.id if client.is_known else b"")


async def refuse_early(deps: Deps, subject: bytes) -> None:
    """Raise RateLimited during the delay. Counts nothing: a refused attempt costs one read."""
    digest = _digest(deps, subject)
    async with deps.db.point_read() as point_read:
        row = (await point_read.execute(select(sign_in_failures).where(_failures.slot == _slot(digest)))).one_or_none()
    _count_failures(row, digest, deps.clock())


async def count_attempt(deps: Deps, subject: bytes) -> int:
    """Count a failure before the password is verified, so that concurrent attempts count each other.

    A refused attempt is not counted, so it does not extend the delay. Return the failures, this one included. Raises
    RateLimited.
    """
    digest, now = _digest(deps, subject), deps.clock()
    in_slot = _failures.slot == _slot(digest)
    first = {"slot": _slot(digest), "digest": digest, "failures": 0, "failed_at": now}
    async with deps.db.write() as tx:
        await tx.execute(
            upsert(tx, sign_in_failures).values(first).on_conflict_do_nothing(index_elements=[_failures.slot])
        )
        row = (await tx.execute(select(sign_in_failures).where(in_slot).with_for_update())).one()
        failures = _count_failures(row, digest, now) + 1
        values = {"digest": digest, "failures": failures, "failed_at": now}
        await tx.execute(update(sign_in_failures).where(in_slot).values(values))
    return failures


async def reset(deps: Deps, tx: Tx, subject: bytes) -> None:
    """Forget the failures, after a successful attempt."""
    digest = _digest(deps, subject)
    await tx.execute(delete(sign_in_failures).where(_failures.slot == _slot(digest), _failures.digest == digest))


def _count_failures(row: NamedRow[tuple[int, str, int, datetime]] | None, digest: str, now: datetime) -> int:
    """Return the failures that still count. Raises RateLimited during their delay."""
    if row is None or row.digest != digest:
        return 0
    # another node's clock may be ahead, but a time far ahead is from before the clock was set back
    if not -MAX_DELAY <= now - row.failed_at < RESET_AFTER:
        return 0
    wait = row.failed_at + delay_after(row.failures) - now
    if wait > timedelta(0):
        raise RateLimited(-(-wait // timedelta(seconds=1)))
    failures: int = row.failures
    return failures


def _slot(digest: str) -> int:
    return int(digest[:8], 16) % _SLOTS


def _digest(deps: Deps, subject: bytes) -> str:
    return hmac.digest(deps.email_digest_keys[0], subject, "sha256").hex()
