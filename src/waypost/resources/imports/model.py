"""Tables of imports, and an import: of a command, or requested in the dashboard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text

from waypost.audit import Actor, Item
from waypost.database import Encrypted, Id, Instant, Json, metadata
from waypost.resources.imports.states import ACTIVE, ENDED, PLAN_ONLY, State
from waypost.worker.jobs import LONG, JobKind

CHECK_JOB = JobKind("imports.check_destinations", LONG)
"""An account has one at most, with its id."""
"""The job of `destination_checks`."""
TURN_JOB = JobKind("imports.turn", LONG, max_attempts=1_000)  # so that it outlasts an outage of the database

imports = Table(
    "imports",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("source", Text, nullable=False),
    Column("options", Json, nullable=False),  # see `Import.options`
    Column("has_page", Boolean, nullable=False),  # in the dashboard, where it was requested: the worker runs it
    Column("state", Text, nullable=False),
    Column("message", Text),  # why it waits or has stopped
    Column("token", Encrypted("import_requests.token")),  # null: a file, ended, or of a command
    Column("file_name", Text),
    Column("file_size", BigInteger),  # bytes, as announced
    Column("plan", Json, nullable=False),  # see `Preview.to_row`
    Column("failures", Integer, nullable=False),  # turns in a row that read nothing
    Column("cursor", Json),  # see `page_plan.Cursor`
    Column("counts", Json, nullable=False),
    Column("warnings", Json, nullable=False),
    Column("total", Integer),  # links that the source says it has
    Column("lease_until", Instant),
    Column("leased_by", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("actor", Json, nullable=False),  # who requested, started or continued it last, see `Actor.to_json`
)
Index("ix_imports_account", *(imports.c[name] for name in ("account_id", "created_at", "id")))

import_refusals = Table(  # rows that were not imported
    "import_refusals",
    metadata,
    Column("import_id", Id, ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("source_id", Text, nullable=False),
    Column("reason", Text, nullable=False),
    sqlite_with_rowid=False,
)

imported_links = Table(
    "imported_links",
    metadata,
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Id, primary_key=True),  # hash of source and source id, which may be longer than an index allows
    Column("link_id", Id, nullable=False),
    Column("digest", Text, nullable=False),  # of the fields as the source had them, see `changes`
    sqlite_with_rowid=False,
)

import_checks = Table(  # links whose destinations are still to be checked, or had a problem
    "import_checks",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("problem", Text),
    Column("checked_at", Instant),  # null: not yet
    Column("import_id", Id),  # the last one that found the link
    sqlite_with_rowid=False,
)
Index("ix_import_checks_account", *(import_checks.c[name] for name in ("account_id", "checked_at", "link_id")))


import_file_pieces = Table(
    "import_file_pieces",  # of uploaded files, on PostgreSQL, where all nodes need them
    metadata,
    Column("import_id", Id, ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),  # in the file, in bytes
    Column("content", LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Import:
    id: UUID
    account_id: UUID
    source: str
    options: dict[str, Any]
    """What decides what is imported. A command continues an import with the same options only.

    `url`; `file` (a digest of its content, or the id of an uploaded one); `domains` (hostname here by hostname of the
    source; "" is the shared domain); `clicks` (whether they are imported); `timezone`. If they were chosen: `encoding`
    and `columns`, see `source.SourceOptions`, and `utm_params` of a campaign template.
    """
    created_at: datetime
    updated_at: datetime
    actor: Mapping[str, Any]
    has_page: bool = False
    state: State = "running"
    message: str | None = None
    file_name: str | None = None
    file_size: int | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    failures: int = 0
    cursor: dict[str, Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """The fields of `report.Counts`."""
    warnings: list[tuple[str, int, str]] = field(default_factory=list)
    """Text, how many links it is about, and the source id of one of them, or "" if it is about none."""
    total: int | None = None
    lease_until: datetime | None = None
    leased_by: str | None = None

    @property
    def item(self) -> Item:
        return Item(self.id, self.source)

    @property
    def started_by(self) -> str:
        return Actor.from_json(self.account_id, self.actor).label

    @property
    def domains(self) -> dict[str, str]:
        return self.options.get("domains", {})  # type: ignore[no-any-return]

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def is_planned_only(self) -> bool:
        return self.state in PLAN_ONLY

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


COLUMNS = tuple(imports.c[name] for name in Import.__dataclass_fields__)
