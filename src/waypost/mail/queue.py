"""Sends emails with jobs: queued in the caller's transaction, sent afterwards, retried if that fails.

Every email of the service is queued here, but for reports of statistics, which are counted here and sent by jobs of
their own. One mailbox gets 3 an hour and 6 a day of each kind, and 20 reports, so that a third party who requests
emails cannot suppress a security notice. The counts are in the database: they apply across restarts and
to all nodes.

Without a mail server an email is printed on the terminal, or else written to a file. Most emails contain a sign-in
link, which must not be in a log.
"""

import asyncio
import contextlib
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

import structlog
from sqlalchemy import Column, String, Table, delete, select, update

from waypost import private_files
from waypost.database import Instant, Json, Tx, metadata, upsert
from waypost.kit.clock import Clock, from_microseconds, microseconds
from waypost.worker import jobs

JOB = jobs.JobKind("mail.send", max_attempts=54, is_private=True)
"""In two days: seven attempts within the first hour, then one an hour."""
_NOT_SENT = "email not sent: WAYPOST_SMTP_URL is not set"
_FILE_RETENTION = timedelta(days=8)
"""Longer than any link in an email is valid."""

MailKind = Literal["requested", "security", "service", "reports", "statistics"]
"""`requested`: anyone can trigger it; `security`: the account was changed; `service`: a resource has a problem.

`reports`: visitors reported links, for operators. `statistics`: reports of statistics, for who subscribed to them.
"""

MAX_PER_HOUR, MAX_PER_DAY = 3, 6
MAX_STATISTICS = 20
"""Of the kind `statistics`, an hour and a day: many are sent at the same minute."""
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)

mail_rate_limits = Table(
    "mail_rate_limits",
    metadata,
    Column("digest", String(64), primary_key=True),  # of kind and mailbox; the address itself is not stored
    Column("sent", Json, nullable=False),  # times of the emails of the last day, in microseconds since 1970
    Column("sent_at", Instant, nullable=False, index=True),  # the latest of them
)
_rate_limits = mail_rate_limits.c

IMAGE_ID = "picture"

log = structlog.get_logger(__name__)


class SendMail(Protocol):
    async def __call__(self, mail: Mapping[str, str], *, unique: str) -> None:
        """Send `to`, `subject` and `text` of `mail`. Raises if the server does not accept it.

        Some have `html`, with an `image` in it, a PNG file in base64 that the HTML calls `cid:` and IMAGE_ID, an
        `unsubscribe_url`, and the text of a `csv` file with its `csv_name`.
        """


async def send_later(
    tx: Tx, kind: MailKind, *, to: str, subject: str, text: str, now: datetime, owner_id: UUID | None
) -> bool:
    """Queue an email in the caller's transaction. Return False if the recipient is over its limit.

    `owner_id`: of the account or person with whose deletion an unsent email is deleted.
    """
    if not await count(tx, to, kind, now):
        return False
    await jobs.enqueue(tx, JOB, {"to": to, "subject": subject, "text": text}, now=now, account_id=owner_id)
    return True


async def delete_unsent(tx: Tx, owner_id: UUID) -> None:
    """Delete the queued emails of a deleted account or person."""
    await jobs.delete_jobs(tx, JOB, owner_id)


def handler(send: SendMail) -> jobs.Handler:
    """Return the handler of `mail.send`."""
    return lambda job: send(job.payload, unique=str(job.id))


async def log_mail(mail: Mapping[str, str], *, unique: str) -> None:  # noqa: ARG001  # a SendMail
    log.info(_NOT_SENT, **{name: mail[name] for name in ("to", "subject", "text")})


class MailDirectory:
    """A directory for emails that cannot be sent, for the operator to read."""

    def __init__(self, directory: Path, *, clock: Clock) -> None:
        self._directory = directory.absolute()
        self._clock = clock

    async def write(self, mail: Mapping[str, str], *, unique: str) -> None:
        """Write an email to a file. Raises OSError."""
        path = self._directory / f"{unique}.txt"
        text = f"To: {mail['to']}\nSubject: {mail['subject']}\n\n{mail['text']}"
        await asyncio.to_thread(self._delete_old)
        await asyncio.to_thread(private_files.write, path, text)
        log.info(_NOT_SENT, to=mail["to"], subject=mail["subject"], file=str(path))

    def _delete_old(self) -> None:
        oldest = (self._clock() - _FILE_RETENTION).timestamp()
        for path in self._directory.glob("*.txt"):
            with contextlib.suppress(FileNotFoundError):  # the operator may remove files
                if path.stat().st_mtime < oldest:
                    path.unlink()


async def count(tx: Tx, recipient: str, kind: MailKind, now: datetime) -> bool:
    """Count an email and return True, or return False if the recipient is over its limit."""
    await tx.execute(delete(mail_rate_limits).where(_rate_limits.sent_at <= now - _DAY))
    digest = sha256(f"{kind}:{mailbox(recipient)}".encode()).hexdigest()
    new = upsert(tx, mail_rate_limits).values(digest=digest, sent=[], sent_at=now)
    await tx.execute(new.on_conflict_do_nothing(index_elements=[_rate_limits.digest]))
    stored = (
        await tx.execute(select(_rate_limits.sent).where(_rate_limits.digest == digest).with_for_update())
    ).scalar_one()
    sent = [at for at in map(from_microseconds, stored) if at > now - _DAY]
    per_hour, per_day = (MAX_STATISTICS,) * 2 if kind == "statistics" else (MAX_PER_HOUR, MAX_PER_DAY)
    if len(sent) >= per_day or sum(at > now - _HOUR for at in sent) >= per_hour:
        log.info("email not queued: too many emails to this address", kind=kind)  # without the address: it is personal
        return False
    counted = [microseconds(at) for at in (*sent, now)]
    await tx.execute(update(mail_rate_limits).where(_rate_limits.digest == digest).values(sent=counted, sent_at=now))
    return True


def mailbox(email: str) -> str:
    """Return the mailbox of an email address: without the `+tag` that many servers ignore, with an ASCII domain."""
    local, _, domain = unicodedata.normalize("NFKC", email).casefold().rpartition("@")
    with contextlib.suppress(UnicodeError):
        domain = domain.encode("idna").decode()
    return f"{local.partition('+')[0] or local}@{domain}"
