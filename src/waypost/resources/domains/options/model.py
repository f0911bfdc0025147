"""Table of the options of domains."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Boolean, Column, Table, Text

from waypost.database import Id, Instant, metadata

domain_options = Table(
    "domain_options",  # no row for a domain without changes of its options
    metadata,
    Column("domain_id", Id, primary_key=True),
    Column("ignore_case", Boolean),  # null: the default
    Column("updated_at", Instant, nullable=False),
    Column("forward_query", Text),  # see `kit.forward_query`
    Column("forward_path", Boolean),
)

IGNORE_CASE = True
"""The default."""


class DomainOptions(NamedTuple):
    """None: the default."""

    ignore_case: bool | None = None
    forward_query: str | None = None
    forward_path: bool | None = None
    updated_at: datetime | None = None
    """Of the last change. None if there was none."""
