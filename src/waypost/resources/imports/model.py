"""Tables of imports, and an import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from waypost.audit import Actor, Item
from waypost.database import Encrypted, Id, Instant, Json, metadata
from waypost.worker.jobs import LONG, JobKind

ImportState = Literal["waiting", "running", "stopped", "finished"]
"""`running`: some process has the lease, or died and left it. `stopped`: a command has, see `error`.

Whether one that was requested in the dashboard has stopped, or was given up, is decided by its request alone.
"""

CHECK_JOB = JobKind("imports.check_destinations", LONG)
"""The job of `destination_checks`."""

imports = Table(
    "imports",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("source", Text, nullable=False),
    Column("options", Json, nullable=False),  # an import is continued with the same options only
    Column("token", Encrypted),  # unused: requests have those of jobs, and a command stores none
    Column("state", Text, nullable=False),
    Column("cursor", Json),  # see `page_plan.Cursor`
    Column("counts", Json, nullable=False),
    Column("warnings", Json, nullable=False),
    Column("total", Integer),  # links that the source says it has
    Column("error", Text),  # why it stopped
    Column("lease_until", Instant),
    Column("leased_by", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("actor", Json),  # who started it, see `Actor.to_json`
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


@dataclass(frozen=True, slots=True)
class Import:
    id: UUID
    account_id: UUID
    source: str
    options: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    actor: Mapping[str, Any]
    state: ImportState = "waiting"
    cursor: dict[str, Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """The fields of `report.Counts`."""
    warnings: list[tuple[str, int, str]] = field(default_factory=list)
    """Text, how many links it is about, and the source id of one of them, or "" if it is about none."""
    total: int | None = None
    error: str | None = None
    lease_until: datetime | None = None
    leased_by: str | None = None

    @property
    def item(self) -> Item:
        return Item(self.id, self.source)

    @property
    def started_by(self) -> str:
        return Actor.from_json(self.account_id, self.actor).label


COLUMNS = tuple(imports.c[name] for name in Import.__dataclass_fields__)
