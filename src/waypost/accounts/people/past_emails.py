"""Emails that accounts used before, so that an email gets only one trial.

Only a keyed digest is stored, for one year.
"""

import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select

from waypost.accounts.model import Person, past_emails
from waypost.database import Tx, upsert

RETENTION = timedelta(days=365)
_past_emails = past_emails.c


async def record(tx: Tx, keys: Sequence[bytes], person: Person, trial_ends_at: datetime | None, now: datetime) -> None:
    """Record the person's email if it is confirmed: an unconfirmed email may belong to a third party.

    `keys`: the first makes the digest. `trial_ends_at`: of the account that has the person's email.
    """
    await tx.execute(delete(past_emails).where(_past_emails.recorded_at < now - RETENTION))
    if person.confirmed_at is not None:
        ends_at = trial_ends_at or now
        row = {"digest": _digest(keys[0], person.email), "trial_ends_at": ends_at, "recorded_at": now}
        statement = upsert(tx, past_emails).values(row).on_conflict_do_nothing(index_elements=[_past_emails.digest])
        await tx.execute(statement)  # the first trial counts


async def find_trial_end(tx: Tx, keys: Sequence[bytes], email: str) -> datetime | None:
    """Return when the trial of this email ended or ends. Searches with all keys."""
    digests = [_digest(key, email) for key in keys]
    ends_at: datetime | None = await tx.scalar(
        select(func.min(_past_emails.trial_ends_at)).where(_past_emails.digest.in_(digests))
    )
    return ends_at


def _digest(key: bytes, email: str) -> str:
    return hmac.digest(key, email.encode(), "sha256").hex()
