"""Table of the options of domains."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Boolean, Column, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata
from waypost.kit.slug_style import DEFAULT_SLUGS, SlugAlphabet, SlugStyle

domain_options = Table(
    "domain_options",  # no row for a domain without changes of its options
    metadata,
    Column("domain_id", Id, primary_key=True),
    Column("ignore_case", Boolean),  # null: the default
    Column("updated_at", Instant, nullable=False),
    Column("forward_query", Text),  # see `kit.forward_query`
    Column("forward_path", Boolean),
    Column("slug_length", SmallInteger),
    Column("slug_alphabet", Text),
)

IGNORE_CASE = True
"""The default."""


class DomainOptions(NamedTuple):
    """None: the default."""

    ignore_case: bool | None = None
    forward_query: str | None = None
    forward_path: bool | None = None
    slug_length: int | None = None
    slug_alphabet: SlugAlphabet | None = None
    updated_at: datetime | None = None
    """Of the last change. None if there was none."""

    @property
    def ignores_case(self) -> bool:
        return IGNORE_CASE if self.ignore_case is None else self.ignore_case

    @property
    def slug_style(self) -> SlugStyle:
        return SlugStyle(self.slug_length or DEFAULT_SLUGS.length, self.slug_alphabet or DEFAULT_SLUGS.alphabet)
