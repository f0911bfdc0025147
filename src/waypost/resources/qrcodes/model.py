"""What a QR code is: its link's, with a look and a counter once there are any. No row says that it exists."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Column, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata
from waypost.resources.qrcodes.style import CodeStyle

qr_looks = Table(
    "qr_looks",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("foreground", Text, nullable=False),
    Column("background", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("style", Text, nullable=False),
    Column("size", SmallInteger, nullable=False),
    Column("margin", SmallInteger, nullable=False),
    Column("updated_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

# apart from the looks, as clicks are from the links: a counter is small, and many are counted on at once
qr_scans = Table(
    "qr_scans",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("scans", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

_FLIPPED = (1 << 48) - 1
"""Bits of an id that only chance decides: what is left of them tells versions and variants, and the time."""


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """Where a code leads to."""

    hostname: str | None
    slug: str


@dataclass(frozen=True, slots=True)
class QrCode:
    link_id: UUID
    target: CodeTarget
    style: CodeStyle
    scans: int
    created_at: datetime
    updated_at: datetime

    @property
    def id(self) -> UUID:
        return code_id(self.link_id)


def code_id(link_id: UUID) -> UUID:
    """The id of a link's code: another one for each link, and an id like any other."""
    return UUID(int=link_id.int ^ _FLIPPED)


def link_id_of(code: UUID) -> UUID:
    return UUID(int=code.int ^ _FLIPPED)
