"""Table of tags, and a tag."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from waypost.database import Id, Instant, metadata
from waypost.resources.links.model import SLUG

TagColor = Literal["gray", "red", "orange", "yellow", "green", "teal", "blue", "violet", "pink"]
MAX_TAGS = 1_000
"""Per account, beyond which only links add some."""
TAG_COLORS: tuple[TagColor, ...] = get_args(TagColor)

tags = Table(  # each tag of a link has a row; so do tags without links
    "tags",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("name", SLUG, nullable=False),
    Column("folded_name", SLUG, nullable=False),  # case-folded in Python: SQLite folds ASCII only
    Column("color", Text, nullable=False),
    Column("links_count", Integer, nullable=False),  # changes with `link_tags`, in the same transaction
    Column("clicks", BigInteger, nullable=False),  # as counted at `counted_at`, for a tag of many links
    Column("counted_at", Instant, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
Index("uq_tags_name", tags.c.account_id, tags.c.name, unique=True)
Index("ix_tags_order", *tags.c["account_id", "folded_name", "name"])


@dataclass(frozen=True, slots=True)
class Tag:
    id: UUID
    account_id: UUID
    name: str
    color: TagColor
    links_count: int
    clicks: int
    created_at: datetime
    updated_at: datetime
