"""Table of logos. Their images are small, so they are in their rows."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Column, LargeBinary, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata

logos = Table(
    "logos",
    metadata,
    Column("owner_id", Id, primary_key=True),  # of the domain, or of the account itself
    Column("account_id", Id, nullable=False, index=True),
    Column("name", Text, nullable=False, unique=True),  # of the file, a new one with each upload
    Column("width", SmallInteger, nullable=False),
    Column("height", SmallInteger, nullable=False),
    Column("color", Text),
    Column("content", LargeBinary, nullable=False),  # PNG
    Column("updated_at", Instant, nullable=False),
)


class Logo(NamedTuple):
    """A logo without its content."""

    owner_id: UUID
    name: str
    width: int
    height: int
    color: str | None
    """The average color of its pixels. None if it has a background of its own."""
    updated_at: datetime
