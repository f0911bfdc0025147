"""QR codes. Every link has one; rows exist only for a changed style and for counted scans."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Double, SmallInteger, Table, Text, false, text

from waypost.database import Id, Instant, metadata
from waypost.resources.domains.logos.model import Logo
from waypost.resources.links import Link
from waypost.resources.qrcodes.style import CodeStyle

qr_styles = Table(
    "qr_styles",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("foreground", Text, nullable=False),
    Column("background", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("style", Text, nullable=False),
    Column("size", SmallInteger, nullable=False),
    Column("margin", SmallInteger, nullable=False),
    Column("width_mm", SmallInteger, nullable=False, server_default=text("40")),
    Column("logo", Boolean, nullable=False, server_default=false()),
    Column("logo_size", Double, nullable=False, server_default="0.22"),
    Column("frame", Text, nullable=False, server_default="none"),
    Column("frame_text", Text, nullable=False, server_default="SCAN ME"),
    Column("updated_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

# not a column of the styles: a counter is small, and many of them are updated together
qr_scans = Table(
    "qr_scans",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("scans", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

_FLIPPED_BITS = (1 << 48) - 1
"""Random bits of a UUIDv7: flipping them keeps its version, variant and time."""


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """The link in a code."""

    hostname: str | None
    slug: str

    def short_url(self, shared_domain: str) -> str:
        """Return the short URL without its scheme."""
        return f"{self.hostname or shared_domain}/{self.slug}"


@dataclass(frozen=True, slots=True)
class QrCode:
    link_id: UUID
    target: CodeTarget
    style: CodeStyle
    logo: Logo | None
    """Of the domain or account, also if the style has none."""
    scans: int
    created_at: datetime
    updated_at: datetime

    @property
    def id(self) -> UUID:
        return code_id(self.link_id)


@dataclass(frozen=True, slots=True)
class SelectedCode:
    """One of the codes of a file."""

    link: Link
    style: CodeStyle
    logo: tuple[Logo, bytes] | None
    """With its content. None if the style shows none."""

    @property
    def target(self) -> CodeTarget:
        return CodeTarget(self.link.hostname, self.link.slug)


def code_id(link_id: UUID) -> UUID:
    """Derive the id of a link's code: unique, and a valid UUID."""
    return UUID(int=link_id.int ^ _FLIPPED_BITS)


def link_id_of(code_id: UUID) -> UUID:
    return UUID(int=code_id.int ^ _FLIPPED_BITS)
