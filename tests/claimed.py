"""Jobs as a handler gets them."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from waypost.kit.ids import new_id
from waypost.worker.jobs import Job, JobKind

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def claimed(kind: JobKind, payload: Any, account_id: UUID | None = None, *, attempt: int = 1) -> Job:
    return Job(new_id(), kind.name, payload, account_id, attempt, 8, _NOW)


def claimed_row(row: Any) -> Job:
    return Job(row.id, row.name, row.payload, row.account_id, 1, row.max_attempts, _NOW)
