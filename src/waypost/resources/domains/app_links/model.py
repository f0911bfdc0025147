"""Table of the documents that say which apps open the links of a domain."""

from typing import NamedTuple

from sqlalchemy import Column, Table, Text

from waypost.database import Id, metadata

domain_app_links = Table(
    "domain_app_links",  # no row for a domain without documents
    metadata,
    Column("domain_id", Id, primary_key=True),
    Column("version", Id, nullable=False),  # new at each change
    Column("apple_app_site_association", Text),  # JSON as it is served; null if there is none
    Column("assetlinks", Text),  # the same
)


class AppLinksTexts(NamedTuple):
    """The documents as they are served, or None."""

    apple_app_site_association: str | None = None
    assetlinks: str | None = None
