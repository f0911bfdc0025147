"""Table of missed addresses: the visits of a path on a day."""

import re
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Column, Index, Integer, Table

from waypost.database import Id, Instant, metadata
from waypost.resources.domains.model import NAME

_SLUG = re.compile(r"[A-Za-z0-9_-]+")
DAYS_SHOWN: Final = 30
MAX_PATH: Final = 200
"""Characters; the rest is cut off."""
MAX_PATHS: Final = 500
"""Of a domain on a day."""
SHARED: Final = UUID(int=0)
"""Instead of the id of a domain: the shared one."""

missed_addresses = Table(
    "missed_addresses",
    metadata,
    Column("domain_id", Id, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),  # since 1970, in UTC
    Column("path", NAME, primary_key=True),
    Column("visits", BigInteger, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)
Index("ix_missed_addresses_day", missed_addresses.c.day)


class MissedAddress(NamedTuple):
    path: str
    """With the leading slash."""
    visits: int
    first_at: datetime
    last_at: datetime

    @property
    def slug(self) -> str:
        """That of a link which would have the address, or empty."""
        return self.alias if _SLUG.fullmatch(self.alias) else ""

    @property
    def alias(self) -> str:
        """The path of an alias which would have the address. Empty if it may be cut."""
        return self.path[1:] if len(self.path) <= MAX_PATH else ""
