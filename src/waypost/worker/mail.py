"""Sends mail with a job: queued in the caller's transaction, sent afterwards, tried again when it fails.

Every mail of the service is queued here, and this is where the limit for each email address is applied.

Without a mail server a mail is printed on the terminal, or else written to a file. Most mails contain a sign-in link,
which must not be in a log (R36).
"""

import asyncio
import contextlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol
from uuid import UUID

import structlog

from waypost import private_files
from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.worker import jobs, mail_limit
from waypost.worker.model import Job

JOB = "mail.send"
_NOT_SENT = "mail not sent: there is no WAYPOST_SMTP_URL"
_KEPT = timedelta(days=8)
"""Longer than any link in a mail is valid."""

log = structlog.get_logger(__name__)


class SendMail(Protocol):
    async def __call__(self, mail: Mapping[str, str], *, unique: str) -> None:
        """`mail`: to, subject, text. Raises when the server did not accept it."""


async def send_later(
    tx: Tx,
    kind: mail_limit.MailKind,
    *,
    to: str,
    subject: str,
    text: str,
    now: datetime,
    account_id: UUID | None,
) -> bool:
    """The mail is sent if and only if the caller's transaction commits. False when the address is over its limit."""
    if not await mail_limit.take(tx, to, kind, now):
        log.info("mail not queued: too many mails to this address", kind=kind)  # without the address: it is personal
        return False
    await jobs.enqueue(tx, JOB, {"to": to, "subject": subject, "text": text}, now=now, account_id=account_id)
    return True


async def delete_unsent(tx: Tx, account_id: UUID) -> None:
    """Delete the mails of a deleted account that could not be sent."""
    await jobs.remove(tx, JOB, account_id)


class MailJob:
    """The handler of `mail.send`."""

    def __init__(self, send: SendMail) -> None:
        self._send = send

    async def __call__(self, job: Job) -> None:
        await self._send(job.payload, unique=str(job.id))


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
