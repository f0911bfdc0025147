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
from waypost.kit.docs import doc

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


OPERATOR = "`in` (default) or `not_in`. What is unknown or absent is in no list"
VALUES = "1 to 250 values, for all types but `time` and `schedule`"
WEEKDAYS = "Days on which a schedule starts, from 1 for Monday to 7 for Sunday"
FROM = "Start: for `time` a time, or null; for `schedule` a time of day, such as 09:00"
TO = "End, exclusive: like `from`. A schedule that does not end after its start ends on the next day"
CONDITIONS = "1 to 5 conditions, all of which must hold"
DESTINATION = "http:// or https:// URL that visitors are redirected to. It gets no UTM parameters"
WEIGHT = "Percentage of the visitors, 1 to 100"

# without kit.fields, which redirect processes don't load
_Uri = Annotated[str, Field(json_schema_extra={"format": "uri"})]

ConditionJson = TypedDict(  # a call, because `from` is a keyword
    "ConditionJson",
    {
        "type": Annotated[ConditionType, doc("What the condition compares", "platform")],
        "operator": Annotated[Operator, doc(OPERATOR)],
        "name": NotRequired[Annotated[str, doc("Name of the query parameter", None, "campaign")]],
        "values": NotRequired[Annotated[list[str], doc(VALUES, ["iOS"])]],
        "weekdays": NotRequired[Annotated[list[int], doc(WEEKDAYS, None, [1, 2, 3, 4, 5])]],
        "from": NotRequired[Annotated[str | None, doc(FROM, None, "09:00")]],
        "to": NotRequired[Annotated[str | None, doc(TO, None, "17:00")]],
        "timezone": NotRequired[Annotated[str, doc("Time zone of a schedule", None, "Europe/Berlin")]],
    },
)
"""Has all fields of its type, with canonical values."""


class RuleJson(TypedDict):
    name: Annotated[str, doc("Name", "iPhone")]
    conditions: Annotated[list[ConditionJson], doc(CONDITIONS)]
    destination_url: Annotated[_Uri, doc(DESTINATION, "https://example.com/ios")]


class VariantJson(TypedDict):
    name: Annotated[str, doc("Name", "B")]
    destination_url: Annotated[_Uri, doc(DESTINATION, "https://example.com/b")]
    weight: Annotated[int, doc(WEIGHT, 50)]


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

    @property
    def has_targets(self) -> bool:
        """Whether it decides between destinations; otherwise it has a password, start, click limit or fallback only."""
        return bool(self.rules or self.variants)

    def with_password(self, hashed: str, before: "LinkRouting | None") -> "LinkRouting":
        """Set the password. Its version is the time: after one is removed, none gets an earlier one's version again."""
        next_version = (before.password_version or 0) + 1 if before else 0
        version = max(microseconds(self.updated_at), next_version)
        return replace(self, password_hash=hashed, password_version=version)
