"""Clicks, and the statistics aggregated from them, whose cost does not depend on the number of clicks.

All keys start with the day, so today's rows are stored together. A subject is a link or an account. Both have UUIDs, so
the same tables hold the statistics of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, get_args
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    text,
)

from waypost.database import Id, Instant, metadata

ClickKind = Literal["human", "crawler", "preview", "prefetch"]
HUMAN: ClickKind = "human"
CRAWLER: ClickKind = "crawler"
PREVIEW: ClickKind = "preview"
PREFETCH: ClickKind = "prefetch"
KINDS: tuple[ClickKind, ...] = (HUMAN, CRAWLER, PREVIEW, PREFETCH)

Dimension = Literal["country", "referrer", "agent", "link", "target"]
DIMENSIONS: dict[Dimension, int] = {"country": 1, "referrer": 2, "agent": 3, "link": 4, "target": 5}
"""The numbers of dimensions in the table.

`agent` is device, browser and platform, separated by tabs: most links have few visits a day, so this is one row
instead of three. `link` is for accounts only; its values are link ids in 32 hex digits.
`target` is for links only, and only for clicks that have one.
"""

LabelName = Literal["tag", "hostname", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"]
ListName = Literal["country", "referrer", "device", "browser", "platform", "target", "link"] | LabelName
"""Of a list of values in statistics."""
LABELS: tuple[LabelName, ...] = get_args(LabelName)
"""What a link has now. For accounts only."""

QUARTERS_PER_DAY = 96
WHOLE_DAY = -1
"""Value of `quarter` in the row of a whole day, so that a year takes 365 rows. All its visitors are new."""

clicks = Table(
    "clicks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("link_id", Id, nullable=False),
    Column("day", Integer, nullable=False),  # of `created_at`: days since 1970, in UTC
    Column("created_at", Instant, nullable=False),
    Column("kind", Text, nullable=False),
    Column("bot", Text),  # the crawler's name
    Column("is_scan", Boolean, nullable=False),
    Column("ip", Text, nullable=False),
    Column("country", Text, nullable=False),
    Column("visitor_id", BigInteger, nullable=False),
    Column("referrer", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("browser", Text, nullable=False),
    Column("platform", Text, nullable=False),
    # name of the rule or variant, or "default"; empty for a link without rules and variants
    Column("target", Text, nullable=False, server_default=text("''")),
    sqlite_with_rowid=False,  # ids grow with time, so rows are appended to the tree
)
# with the kind, so that rows before a page are skipped within the index
Index("ix_clicks_link", *clicks.c["day", "link_id", "created_at", "id", "kind"])
Index("ix_clicks_account", *clicks.c["day", "account_id", "created_at", "id", "kind"])


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0")


click_totals = Table(
    "click_totals",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("subject_id", Id, primary_key=True),
    # of an hour since midnight UTC, 0 to 95 (time zones are offset by quarters), or WHOLE_DAY
    Column("quarter", SmallInteger, primary_key=True),
    _count("clicks"),  # of humans, like all columns but the next three
    _count("crawlers"),
    _count("previews"),
    _count("prefetches"),
    _count("scans"),
    _count("visitors"),
    # the rest counts visitors over more than a quarter: see `changes_per_quarter` in stats/aggregate.py
    _count("new_in_15"),  # visitors not seen in the 15 minutes before
    _count("new_in_30"),
    _count("new_in_45"),
    _count("firsts"),  # visitors not seen before on this day
    _count("lasts"),  # visitors not seen again on this day
    Column("first_at", Instant),
    Column("last_at", Instant),
    sqlite_with_rowid=False,
)

QUARTER_COLUMNS = tuple(click_totals.c.keys())[2:]

"""The columns after day and subject."""

click_dimensions = Table(
    "click_dimensions",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("subject_id", Id, primary_key=True),
    Column("dimension", SmallInteger, primary_key=True),
    Column("value", Text, primary_key=True),
    _count("clicks"),
    sqlite_with_rowid=False,
)

top_values_cache = Table(
    "top_values_cache",
    metadata,
    Column("subject_id", Id, primary_key=True),
    Column("time_range", Text, primary_key=True),  # of the dashboard; these days are most of it
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("first_day", Integer, nullable=False),
    Column("last_day", Integer, nullable=False),
    Column("clicks", BigInteger, nullable=False),  # of humans on these days; 0 until the top values are known
    Column("top_values", Text, nullable=False),  # JSON: [value, clicks] by dimension
    Column("attempt", Id, nullable=False),  # the last attempt to compute them
    sqlite_with_rowid=False,
)

MAX_LINK_ROWS = 8
"""Rows of links that a visitor has on a day without one of the account: their bits are the account's together.

A visitor of more links has a row of the account, too, so that none needs more than this many rows read.
"""

visitor_days = Table(
    "visitor_days",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("visitor_id", BigInteger, primary_key=True),
    Column("subject_id", Id, primary_key=True),
    # a bit for each quarter of an hour with a visit: twice 48, because integers have 64 bits
    Column("morning", BigInteger, nullable=False),
    Column("afternoon", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

click_retention = Table(
    "click_retention",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # one row
    Column("kept_since", Integer, nullable=False),  # a day; rows of earlier days are deleted, or soon will be
)

spool_positions = Table(
    "spool_positions",
    metadata,
    Column("segment", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    # of the batch from `position` on that is being inserted into ClickHouse: it is repeated unchanged, with its token
    Column("pending_end", BigInteger),
    Column("pending_token", Text),
    sqlite_with_rowid=False,
)


class Click(NamedTuple):
    """A visit between the spool and its row.

    Ids are bytes and the time is a number, as they are stored, to avoid creating objects for every visit.
    """

    id: bytes
    account_id: bytes
    link_id: bytes
    at: int
    """Microseconds since 1970."""
    day: int
    quarter: int
    kind: ClickKind = HUMAN
    bot: str | None = None
    is_scan: bool = False
    ip: str = ""
    country: str = ""
    visitor_id: int = 0
    referrer: str = ""
    device: str = ""
    browser: str = ""
    platform: str = ""
    target: str = ""
    pixels: Sequence[tuple[str, UUID]] = ()
    """(platform, our id) of the pixels that fired. Not stored, like the next field."""
    user_agent: str = ""
    """Only set if pixels fired: their platforms require it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A link, or an account with all links it has or had."""

    account_id: UUID
    link_id: UUID | None = None

    @property
    def id(self) -> UUID:
        return self.link_id or self.account_id

    @property
    def clicks(self) -> ColumnElement[bool]:
        return clicks.c.link_id == self.link_id if self.link_id else clicks.c.account_id == self.account_id

    @property
    def dimensions(self) -> list[Dimension]:
        other = "link" if self.link_id else "target"
        return [name for name in DIMENSIONS if name != other]


@dataclass(slots=True)
class StatsTotals:
    clicks: int = 0
    visitors: int | None = 0
    """None: they are not known."""
    scans: int = 0
    crawlers: int = 0
    previews: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def visits(self) -> int:
        """Of people and bots, without prefetches."""
        return self.clicks + self.crawlers + self.previews

    @property
    def metrics(self) -> dict[str, int | None]:
        """What people choose from in statistics, by name."""
        return {"clicks": self.clicks, "visitors": self.visitors, "scans": self.scans}

    def add(self, other: "StatsTotals") -> None:
        self.clicks += other.clicks
        self.visitors = None if self.visitors is None or other.visitors is None else self.visitors + other.visitors
        self.scans += other.scans
        self.crawlers += other.crawlers
        self.previews += other.previews
        self.first_at = min(filter(None, (self.first_at, other.first_at)), default=None)
        self.last_at = max(filter(None, (self.last_at, other.last_at)), default=None)


TOP_COUNT = 50
"""Entries of a list of values."""

RankedValues = dict[str, list[tuple[str, int]]]
"""Values and their clicks by list, most clicks first, ties in the order of the values."""
