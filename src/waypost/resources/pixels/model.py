"""Retargeting pixels of an account, and the links that they are attached to."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import Column, Index, SmallInteger, Table, Text

from waypost.database import Encrypted, Id, Instant, metadata

Platform = Literal["facebook", "tiktok", "pinterest", "google_ads"]

pixels = Table(
    "pixels",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("platform", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("pixel_id", Encrypted, nullable=False),  # the platform's; never shown
    Column("access_token", Encrypted),  # for server-side events
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
Index("ix_pixels_account", pixels.c.account_id, pixels.c.id)

link_pixels = Table(
    "link_pixels",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("position", SmallInteger, primary_key=True, autoincrement=False),
    Column("pixel_id", Id, nullable=False),
    sqlite_with_rowid=False,
)
Index("ix_link_pixels_pixel", link_pixels.c.pixel_id, link_pixels.c.link_id)


@dataclass(frozen=True, slots=True)
class Pixel:
    """Without its secrets."""

    id: UUID
    account_id: UUID
    platform: Platform
    name: str
    created_at: datetime
    updated_at: datetime
