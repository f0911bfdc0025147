"""Mail as a job: queued in the transaction of what it reports, sent afterwards, tried again when it fails.

Every mail of the service is queued here, so this is where an address's budget is held.

Without a mail server it is shown on a terminal, or else kept as a file: most mails hold a link that lets its bearer in,
and that belongs in no log (R36).
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
from waypost.worker import jobs, mail_budget
from waypost.worker.model import Job

JOB = "mail.send"
_NOT_SENT = "mail not sent: there is no WAYPOST_SMTP_URL"
_KEPT = timedelta(days=8)
"""Longer than any link in a mail works."""

log = structlog.get_logger(__name__)


class Send(Protocol):
    async def __call__(self, mail: Mapping[str, str], *, unique: str) -> None:
        """`mail`: to, subject, text. Raises when it was not taken."""


async def send_later(
    tx: Tx,
    kind: mail_budget.Kind,
    *,
    to: str,
    subject: str,
    text: str,
    now: datetime,
    account_id: UUID | None,
) -> bool:
    """If and only if the caller's transaction commits. False: the address has received enough, and gets none."""
    if not await mail_budget.take(tx, to, kind, now):
        log.info("mail held back: its address has received enough", kind=kind)  # without the address: it is personal
        return False
    await jobs.enqueue(tx, JOB, {"to": to, "subject": subject, "text": text}, now=now, account_id=account_id)
    return True


async def forget(tx: Tx, account_id: UUID) -> None:
    """What was written to somebody who has left since and could not be sent."""
    await jobs.remove(tx, JOB, account_id)


class Sending:
    """The handler of `mail.send`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, job: Job) -> None:
        await self._send(job.payload, unique=str(job.id))


async def show(mail: Mapping[str, str], *, unique: str) -> None:  # noqa: ARG001  # a Send
    log.info(_NOT_SENT, **mail)


class Outbox:
    """A directory of mails that are not sent, for the operator to read."""

    def __init__(self, directory: Path, *, clock: Clock) -> None:
        self._directory = directory.absolute()
        self._clock = clock

    async def keep(self, mail: Mapping[str, str], *, unique: str) -> None:
        """Raises OSError."""
        path = self._directory / f"{unique}.txt"
        text = f"To: {mail['to']}\nSubject: {mail['subject']}\n\n{mail['text']}"
        await asyncio.to_thread(self._remove_old)
        await asyncio.to_thread(private_files.write, path, text)
        log.info(_NOT_SENT, to=mail["to"], subject=mail["subject"], file=str(path))

    def _remove_old(self) -> None:
        oldest = (self._clock() - _KEPT).timestamp()
        for path in self._directory.glob("*.txt"):
            with contextlib.suppress(FileNotFoundError):  # the operator has removed it
                if path.stat().st_mtime < oldest:
                    path.unlink()
