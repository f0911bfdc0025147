"""Table of the routing of links, and what is stored of one. Start and click limit are columns of the link."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Literal, NotRequired
from uuid import UUID

from pydantic import Field
from sqlalchemy import BigInteger, Column, Table, Text
from typing_extensions import TypedDict

from waypost.database import Id, Instant, metadata
from waypost.kit.clock import microseconds

ConditionType = Literal["device", "platform", "browser", "country", "language", "query", "time", "schedule"]
Operator = Literal["in", "not_in"]

link_routing = Table(  # no row: the link has no routing, and neither start nor click limit
    "link_routing",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("rules", Text),  # JSON; null if there are none. Text, because JSONB has another order of keys
    Column("variants", Text),  # the same
    Column("fallback_url", Text),
    Column("password_hash", Text),
    Column("password_version", BigInteger),  # grows with each password; null without one
    Column("unsafe_urls", Text),  # JSON; null if none of the destinations is unsafe
    Column("checked_at", Instant, nullable=False, index=True),  # when its destinations were last looked up
    Column("updated_at", Instant, nullable=False),
)


# without kit.fields, which redirect processes don't load
_Uri = Annotated[str, Field(json_schema_extra={"format": "uri"})]

ConditionJson = TypedDict(  # a call, because `from` is a keyword
    "ConditionJson",
    {
        "type": ConditionType,
        "operator": Operator,
        "name": NotRequired[str],
        "values": NotRequired[list[str]],
        "weekdays": NotRequired[list[int]],
        "from": NotRequired[str | None],
        "to": NotRequired[str | None],
        "timezone": NotRequired[str],
    },
)
"""Has all fields of its type, with canonical values."""


class RuleJson(TypedDict):
    name: str
    conditions: list[ConditionJson]
    destination_url: _Uri


class VariantJson(TypedDict):
    name: str
    destination_url: _Uri
    weight: int


@dataclass(frozen=True, slots=True)
class LinkRouting:
    link_id: UUID
    account_id: UUID
    updated_at: datetime
    checked_at: datetime
    rules: Sequence[RuleJson] = ()
    variants: Sequence[VariantJson] = ()
    fallback_url: str | None = None
    password_hash: str | None = field(default=None, repr=False)
    password_version: int | None = None
    unsafe_urls: Sequence[str] = ()
    """Those of its destinations that became unsafe: visitors are not sent there."""

    @property
    def destinations(self) -> set[str]:
        """The URLs that it can send visitors to."""
        urls = {entry["destination_url"] for entry in (*self.rules, *self.variants)}
        return urls | {self.fallback_url} if self.fallback_url else urls

    def with_password(self, hashed: str, before: "LinkRouting | None") -> "LinkRouting":
        """Set the password. Its version is the time: after one is removed, none gets an earlier one's version again."""
        next_version = (before.password_version or 0) + 1 if before else 0
        version = max(microseconds(self.updated_at), next_version)
        return replace(self, password_hash=hashed, password_version=version)
