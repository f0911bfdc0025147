"""Emails that accounts used before, so that nobody gets a second trial with the same email.

Only a keyed digest is stored, for one year.
"""

import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.auth.model import Account, left_addresses
from waypost.database import Tx

KEPT = timedelta(days=365)
_L = left_addresses.c


async def remember(tx: Tx, keys: Sequence[bytes], account: Account, now: datetime) -> None:
    """`keys`: digests are written with the first and searched with all. An unconfirmed email may be somebody else's."""
    await tx.execute(delete(left_addresses).where(_L.left_at < now - KEPT))
    if account.confirmed_at is not None:
        ends_at = account.plan.trial_ends_at or now
        row = {"digest": _digest(keys[0], account.email), "trial_ends_at": ends_at, "left_at": now}
        insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
        added = insert(left_addresses).values(row).on_conflict_do_nothing(index_elements=[_L.digest])
        await tx.execute(added)  # the first trial counts


async def trial_end(tx: Tx, keys: Sequence[bytes], email: str) -> datetime | None:
    """When the trial of this email ended."""
    digests = [_digest(key, email) for key in keys]
    ends_at: datetime | None = await tx.scalar(select(func.min(_L.trial_ends_at)).where(_L.digest.in_(digests)))
    return ends_at


def _digest(key: bytes, email: str) -> str:
    return hmac.digest(key, email.encode(), "sha256").hex()
