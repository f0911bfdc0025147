"""Sends mail with a job: queued in the caller's transaction, sent afterwards, tried again when it fails.

Every mail of the service is queued here. One email address gets 3 an hour and 6 a day of each kind, so that a
stranger who requests mails cannot suppress a security notice. The counts are in the database: they hold across restarts
and for all nodes.

Without a mail server a mail is printed on the terminal, or else written to a file. Most mails contain a sign-in link,
which must not be in a log.
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

JOB = "mail.send"
_NOT_SENT = "mail not sent: there is no WAYPOST_SMTP_URL"
_KEPT = timedelta(days=8)
"""Longer than any link in a mail is valid."""

MailKind = Literal["requested", "security", "service"]
"""`requested`: anyone can trigger it; `security`: the account was changed; `service`: a resource has a problem."""

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

log = structlog.get_logger(__name__)


class SendMail(Protocol):
    async def __call__(self, mail: Mapping[str, str], *, unique: str) -> None:
        """`mail`: to, subject, text. Raises when the server did not accept it."""


async def send_later(
    tx: Tx, kind: MailKind, *, to: str, subject: str, text: str, now: datetime, account_id: UUID | None
) -> bool:
    """The mail is sent if and only if the caller's transaction commits. False when the address is over its limit."""
    if not await _count(tx, to, kind, now):
        log.info("mail not queued: too many mails to this address", kind=kind)  # without the address: it is personal
        return False
    await jobs.enqueue(tx, JOB, {"to": to, "subject": subject, "text": text}, now=now, account_id=account_id)
    return True


async def delete_unsent(tx: Tx, account_id: UUID) -> None:
    """Delete the mails of a deleted account that could not be sent."""
    await jobs.remove(tx, JOB, account_id)


def handler(send: SendMail) -> jobs.Handler:
    """The handler of `mail.send`."""
    return lambda job: send(job.payload, unique=str(job.id))


async def log_mail(mail: Mapping[str, str], *, unique: str) -> None:  # noqa: ARG001  # a SendMail
    log.info(_NOT_SENT, **mail)


class MailDirectory:
    """A directory for mails that cannot be sent, for the operator to read."""

    def __init__(self, directory: Path, *, clock: Clock) -> None:
        self._directory = directory.absolute()
        self._clock = clock

    async def write(self, mail: Mapping[str, str], *, unique: str) -> None:
        """Raises OSError."""
        path = self._directory / f"{unique}.txt"
        text = f"To: {mail['to']}\nSubject: {mail['subject']}\n\n{mail['text']}"
        await asyncio.to_thread(self._remove_old)
        await asyncio.to_thread(private_files.write, path, text)
        log.info(_NOT_SENT, to=mail["to"], subject=mail["subject"], file=str(path))

    def _remove_old(self) -> None:
        oldest = (self._clock() - _KEPT).timestamp()
        for path in self._directory.glob("*.txt"):
            with contextlib.suppress(FileNotFoundError):  # the operator may remove files
                if path.stat().st_mtime < oldest:
                    path.unlink()


async def _count(tx: Tx, address: str, kind: MailKind, now: datetime) -> bool:
    """Whether one more mail may be sent. It is counted if and only if the transaction commits."""
    await tx.execute(delete(mail_budgets).where(_B.sent_at <= now - _DAY))
    digest = sha256(f"{kind}:{mailbox(address)}".encode()).hexdigest()
    new = upsert(tx, mail_budgets).values(digest=digest, sent=[], sent_at=now)
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
