"""Table of the appearance of domains."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Column, Table, Text

from waypost.database import Id, Instant, metadata
from waypost.redirect import Appearance

domain_appearances = Table(
    "domain_appearances",  # no row for a domain whose appearance was never changed
    metadata,
    Column("domain_id", Id, primary_key=True),
    Column("name", Text),
    Column("color", Text),  # as #rrggbb
    Column("not_found_text", Text),
    Column("expired_text", Text),
    Column("not_started_text", Text),
    Column("password_text", Text),
    Column("updated_at", Instant, nullable=False),
)


class DomainAppearance(NamedTuple):
    """None: the default."""

    name: str | None = None
    color: str | None = None
    not_found_text: str | None = None
    expired_text: str | None = None
    not_started_text: str | None = None
    password_text: str | None = None
    updated_at: datetime | None = None
    """Of the last change. None if there was none."""

    @property
    def of_pages(self) -> Appearance:
        return Appearance(
            self.name or "",
            self.color or "",
            self.not_found_text or "",
            self.expired_text or "",
            self.not_started_text or "",
            self.password_text or "",
        )
