"""Limits mails to one email address: 3 an hour and 6 a day of each kind (R36).

Each kind has its own limit, so that a stranger who requests mails cannot suppress a security notice. The counts are in
the database: they hold across restarts and for all nodes.
"""

import contextlib
import unicodedata
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from sqlalchemy import Column, String, Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Instant, Json, Tx, metadata
from waypost.kit.clock import from_microseconds, microseconds

MailKind = Literal["requested", "security", "service"]
"""Mails that anybody can request who knows the address; notices of account changes; reports on resources."""

PER_HOUR, PER_DAY = 3, 6
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)

mail_budgets = Table(
    "mail_budgets",
    metadata,
    Column("digest", String(64), primary_key=True),  # of kind and mailbox: the address itself is not stored
    Column("sent", Json, nullable=False),  # when the mails of the last day were, in microseconds since 1970
    Column("sent_at", Instant, nullable=False, index=True),  # the latest of them
)
_B = mail_budgets.c


async def take(tx: Tx, address: str, kind: MailKind, now: datetime) -> bool:
    """Whether one more mail may be sent. It is counted if and only if the transaction commits."""
    await tx.execute(delete(mail_budgets).where(_B.sent_at <= now - _DAY))
    digest = sha256(f"{kind}:{mailbox(address)}".encode()).hexdigest()
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    new = insert(mail_budgets).values(digest=digest, sent=[], sent_at=now)
    await tx.execute(new.on_conflict_do_nothing(index_elements=[_B.digest]))
    stored = (await tx.execute(select(_B.sent).where(_B.digest == digest).with_for_update())).scalar_one()
    sent = [at for at in map(from_microseconds, stored) if at > now - _DAY]
    if len(sent) >= PER_DAY or sum(at > now - _HOUR for at in sent) >= PER_HOUR:
        return False
    counted = [microseconds(at) for at in (*sent, now)]
    await tx.execute(update(mail_budgets).where(_B.digest == digest).values(sent=counted, sent_at=now))
    return True


def mailbox(address: str) -> str:
    """The mailbox of an address: without the `+tag` that many servers ignore, the domain in its ASCII form."""
    local, _, domain = unicodedata.normalize("NFKC", address).casefold().rpartition("@")
    with contextlib.suppress(UnicodeError):
        domain = domain.encode("idna").decode()
    return f"{local.partition('+')[0] or local}@{domain}"
