"""Requested imports: what to read, and how far it is.

A request is planned first, which writes no link. The plan is shown, and the import runs once it is confirmed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text

from waypost.audit import Item
from waypost.database import Encrypted, Id, Instant, Json, metadata
from waypost.worker.jobs import LONG, JobKind

State = Literal["uploading", "planning", "plan_stopped", "planned", "running", "stopped", "done", "given_up"]
ACTIVE: tuple[State, ...] = ("planning", "running")
"""A job of the worker exists."""
ENDED: tuple[State, ...] = ("done", "given_up")
"""Token and file are deleted."""

TURN_JOB = JobKind("imports.turn", LONG, max_attempts=1_000)

import_requests = Table(
    "import_requests",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("source", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("url", Text),  # null: the vendor's
    Column("token", Encrypted),  # null: a file, or ended
    Column("has_clicks", Boolean, nullable=False),
    Column("timezone", Text),
    Column("domains", Json, nullable=False),  # hostname here by hostname of the source; "" is the shared domain
    Column("file_name", Text),
    Column("file_size", BigInteger),  # bytes, as announced
    Column("plan", Json, nullable=False),  # see `Preview.to_row`
    Column("import_id", Id),  # once it has started; no foreign key, because the import may be deleted first
    Column("message", Text),  # why it waits or has stopped
    Column("failures", Integer, nullable=False),  # turns in a row that read nothing
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("actor", Json),  # who requested, started or resumed it last, see `Actor.to_json`
)
Index("ix_import_requests_account", import_requests.c.account_id, import_requests.c.id)

import_file_pieces = Table(
    "import_file_pieces",  # of uploaded files, on PostgreSQL, where all nodes need them
    metadata,
    Column("request_id", Id, ForeignKey("import_requests.id", ondelete="CASCADE"), primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),  # in the file, in bytes
    Column("content", LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class ImportRequest:
    id: UUID
    account_id: UUID
    source: str
    state: State
    url: str | None
    has_token: bool
    has_clicks: bool
    timezone: str | None
    file_name: str | None
    file_size: int | None
    created_at: datetime
    updated_at: datetime
    actor: Mapping[str, Any]
    domains: Mapping[str, str] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    import_id: UUID | None = None
    message: str | None = None
    failures: int = 0

    @property
    def item(self) -> Item:
        return Item(self.id, self.source)

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def is_planned_only(self) -> bool:
        return self.state in ("uploading", "planning", "plan_stopped", "planned")

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED
