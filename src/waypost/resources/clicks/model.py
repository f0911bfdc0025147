"""What a click is: the row of one visit, and what is added up from the rows so that figures cost the same at any size.

All keys begin with the day: what is written today lies together, however much was written before. A `subject` is a link
or an account; both have UUIDs, so the figures of both stand in the same tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata

ClickKind = Literal["human", "crawler", "preview", "prefetch"]
HUMAN: ClickKind = "human"
CRAWLER: ClickKind = "crawler"
PREVIEW: ClickKind = "preview"
PREFETCH: ClickKind = "prefetch"
KINDS: tuple[ClickKind, ...] = (HUMAN, CRAWLER, PREVIEW, PREFETCH)

Dimension = Literal["country", "referrer", "agent", "link"]
DIMENSIONS: dict[Dimension, int] = {"country": 1, "referrer": 2, "agent": 3, "link": 4}
"""As numbers in the table.

`agent` is device, browser and platform with tabs between them: most links have few visits a day, and this is one row
for each where there would be three. `link` is told of accounts only; its values are the links' ids, 32 hex digits.
"""

WHOLE_DAY = -1
"""In place of a quarter: a row of the day itself, so that a year is read in 365 rows. Its visitors are all new."""

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
    sqlite_with_rowid=False,  # ids grow with time, so rows are appended to the tree
)
# the kind is in it, so that what is passed over on the way to a page is not looked up
Index("ix_clicks_link", *(clicks.c[name] for name in ("day", "link_id", "created_at", "id", "kind")))
Index("ix_clicks_account", *(clicks.c[name] for name in ("day", "account_id", "created_at", "id", "kind")))


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0")


click_totals = Table(
    "click_totals",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("subject_id", Id, primary_key=True),
    # of an hour, 0 to 95: every time zone's hours begin at one; and WHOLE_DAY
    Column("quarter", SmallInteger, primary_key=True),
    _count("clicks"),  # of humans, as all that follow but the next three
    _count("crawlers"),
    _count("previews"),
    _count("prefetches"),
    _count("scans"),
    _count("visitors"),
    # the rest makes visitors countable over more than a quarter: see stats/visitors.py
    _count("new_in_15"),  # visitors not seen in the 15 minutes before
    _count("new_in_30"),
    _count("new_in_45"),
    _count("firsts"),  # visitors not seen before on this day
    _count("lasts"),  # visitors not seen again on this day
    Column("first_at", Instant),
    Column("last_at", Instant),
    sqlite_with_rowid=False,
)

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

click_leaders = Table(
    "click_leaders",
    metadata,
    Column("subject_id", Id, primary_key=True),
    Column("period", Text, primary_key=True),  # of the dashboard, that these days are most of
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("first_day", Integer, nullable=False),
    Column("last_day", Integer, nullable=False),
    Column("clicks", BigInteger, nullable=False),  # of humans on these days; 0 until their leaders are known
    Column("leaders", Text, nullable=False),  # JSON: [value, clicks] by dimension
    Column("attempt", Id, nullable=False),  # who looked for them last
    sqlite_with_rowid=False,
)

visitor_days = Table(
    "visitor_days",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("visitor_id", BigInteger, primary_key=True),
    Column("subject_id", Id, primary_key=True),
    # a bit for each quarter of an hour in which the visitor came: 48 and 48, because databases have integers of 64
    Column("morning", BigInteger, nullable=False),
    Column("afternoon", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

click_retention = Table(
    "click_retention",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # one row
    Column("kept_since", Integer, nullable=False),  # a day; of the days before it, rows are gone or going
)

spool_positions = Table(
    "spool_positions",
    metadata,
    Column("segment", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


@dataclass(slots=True)
class Click:
    """A visit on its way from the spool to its row, filled in by one enrichment step after the other.

    Ids are a UUID's bytes, and the moment is a number, as they are stored: objects would be made of them and unmade
    again for every single visit.
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
    pixels: Sequence[tuple[str, UUID]] = ()
    """(platform, our id) of those that fired on the link's page. Neither this nor what follows is stored."""
    user_agent: str = ""
    """Known only where pixels fired: their platforms ask for it."""
