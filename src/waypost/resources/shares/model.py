"""Shares of statistics. The token of the URL is stored encrypted, to show it again, and as a digest, to find it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Column, Index, SmallInteger, String, Table, Text

from waypost.database import Ciphertext, Encrypted, Id, Instant, Json, metadata
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, Clause, FilterName, Filters, FilterValue
from waypost.resources.clicks.model import Subject

shares = Table(
    "shares",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("name", Text, nullable=False),
    # at most one of the three; none: all links of the account
    Column("link_id", Id),
    Column("tag", Text),  # the name that it had when the share was saved
    Column("tag_id", Id),  # of the tag, which may get another name
    Column("hostname", Text),
    Column("filters", Json, nullable=False),
    Column("range_start", Instant),
    Column("range_end", Instant),
    Column("expires_at", Instant),
    Column("hide_below", SmallInteger, nullable=False),
    Column("embed_origins", Json, nullable=False),
    Column("token", Encrypted, nullable=False),
    Column("token_digest", String(64), nullable=False, unique=True),
    Column("password_hash", Text),
    Column("access_version", BigInteger, nullable=False),  # grows with each password and each list of origins
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
Index("ix_shares_account", shares.c.account_id, shares.c.id)
Index("ix_shares_link", shares.c.link_id)


@dataclass(frozen=True, slots=True)
class Share:
    id: UUID
    account_id: UUID
    name: str
    link_id: UUID | None
    tag: str | None
    """The name that the tag has now."""
    tag_id: UUID | None
    """None with a tag: it is deleted."""
    hostname: str | None
    filters: Mapping[str, Any]
    """As `Filters.from_json` reads them."""
    range_start: datetime | None
    range_end: datetime | None
    """Clicks of other times are not shown."""
    expires_at: datetime | None
    hide_below: int
    embed_origins: Sequence[str]
    """Origins of pages that may embed the share."""
    token: Ciphertext = field(repr=False)
    password_hash: str | None = field(repr=False)
    access_version: int
    """What signatures and cookies are for: another one ends them."""
    created_at: datetime
    updated_at: datetime

    @property
    def subject(self) -> Subject:
        return Subject(self.account_id, self.link_id)

    @property
    def offered_filters(self) -> Sequence[FilterName]:
        """What visitors can filter by."""
        return LINK_FILTERS if self.link_id else ACCOUNT_FILTERS

    @property
    def own_clauses(self) -> Filters:
        """The tag or the domain, as a filter."""
        named: tuple[tuple[FilterName, str | None], ...] = (("tag", self.tag), ("hostname", self.hostname))
        return Filters(tuple(Clause(name, (FilterValue(text, is_excluded=False),)) for name, text in named if text))

    @property
    def has_lost_tag(self) -> bool:
        return self.tag is not None and self.tag_id is None

    @property
    def hides(self) -> bool:
        """Whether small numbers are hidden. No entry has fewer than one click."""
        return self.hide_below > 1

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def digest(token: str) -> str:
    """Return what a token is found by. Tokens are random, so it reveals nothing, and no time depends on a guess."""
    return sha256(token.encode()).hexdigest()
