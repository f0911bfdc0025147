"""Mail as a job: written down in the transaction of what it tells of, sent afterwards, tried again when it fails."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.database import Tx
from waypost.worker import jobs
from waypost.worker.model import Job

JOB = "mail.send"


class Send(Protocol):
    async def __call__(self, mail: Mapping[str, str], *, unique: str) -> None:
        """`mail`: to, subject, text. Raises when it was not taken."""


async def send_later(tx: Tx, *, to: str, subject: str, text: str, now: datetime, account_id: UUID | None) -> None:
    """If and only if the caller's transaction commits."""
    await jobs.enqueue(tx, JOB, {"to": to, "subject": subject, "text": text}, now=now, account_id=account_id)


async def forget(tx: Tx, account_id: UUID) -> None:
    """What was written to somebody who has left since and could not be sent."""
    await jobs.remove(tx, JOB, account_id)


class Sending:
    """The handler of `mail.send`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, job: Job) -> None:
        await self._send(job.payload, unique=str(job.id))
