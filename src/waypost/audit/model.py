"""Table of the audit log, and its entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Self, get_args
from uuid import UUID

from sqlalchemy import Column, Index, Table, Text

from waypost.audit.actions import AuditAction
from waypost.database import Id, Instant, Json, metadata

ActorType = Literal["person", "key", "operator", "command", "system"]
ACTOR_TYPES: tuple[ActorType, ...] = get_args(ActorType)

audit_entries = Table(
    "audit_entries",
    metadata,
    # no foreign key: an entry is written beside changes of the account's row, and deleted in steps before that
    Column("account_id", Id, primary_key=True),
    Column("id", Id, primary_key=True),  # begins with the time
    Column("at", Instant, nullable=False),
    Column("actor_type", Text, nullable=False),
    Column("actor_id", Id),  # of the person or API key
    Column("actor_name", Text, nullable=False),  # as it was then
    Column("ip", Text),  # as the privacy setting allowed it
    Column("action", Text, nullable=False),
    Column("item_id", Id),
    Column("item", Text, nullable=False),  # its name as it was then
    Column("changes", Json),
    Column("details", Json),
    sqlite_with_rowid=False,
)
for _filter in ("actor_id", "action", "item_id"):
    Index(f"ix_audit_entries_{_filter}", *(audit_entries.c[name] for name in ("account_id", _filter, "id")))


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something in an account, and from where."""

    account_id: UUID
    type: ActorType
    id: UUID | None
    """Of the person or API key."""
    name: str
    """Email of the person, name of the key or command."""
    ip: str | None = None

    @classmethod
    def command(cls, account_id: UUID, name: str) -> Self:
        return cls(account_id, "command", None, name)

    @classmethod
    def operator(cls, account_id: UUID) -> Self:
        """Members of accounts do not see which operator it was."""
        return cls(account_id, "operator", None, "the operator")

    @classmethod
    def system(cls, account_id: UUID, name: str = "") -> Self:
        """`name`: what decided it, such as a payment service."""
        return cls(account_id, "system", None, name)

    def to_json(self) -> dict[str, Any]:
        """For work that continues in a job. The job has the account."""
        return {"type": self.type, "id": str(self.id) if self.id else None, "name": self.name, "ip": self.ip}

    @classmethod
    def from_json(cls, account_id: UUID, values: Mapping[str, Any]) -> Self:
        id_ = UUID(values["id"]) if values["id"] else None
        return cls(account_id, values["type"], id_, values["name"], values["ip"])

    @property
    def label(self) -> str:
        """For people who read who made or changed something."""
        return f"API key {self.name}" if self.type == "key" else self.name or "Waypost"


class Item(NamedTuple):
    """What was changed."""

    id: UUID | None = None
    name: str = ""


Changes = Mapping[str, Sequence[Any] | None]
"""By field: before and after, or None for a value that the log does not contain, such as a password."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: UUID
    at: datetime
    actor: Actor
    action: AuditAction
    item: Item
    changes: Changes
    details: Mapping[str, Any]
    """Of a change of many things: `count`, and the first `ids`; others by action."""
