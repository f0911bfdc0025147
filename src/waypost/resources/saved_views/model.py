"""Saved views. A state of a statistics page or of the list of links is its URL: what it shows, and the parameters."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, ForeignKey, ForeignKeyConstraint, Index, Table, Text

from waypost.database import Id, Instant, metadata

OF_LIST = "view=links"
"""Begins the query of a view of the list of links."""

saved_views = Table(
    "saved_views",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("person_id", Id),  # whose it is; null: of all members
    Column("name", Text, nullable=False),
    Column("link_id", Id),  # null: statistics of the account
    Column("query", Text, nullable=False),  # see `state.clean_query`
    Column("created_at", Instant, nullable=False),
    # who leaves the account loses their views of it
    ForeignKeyConstraint(
        ["account_id", "person_id"],
        ["memberships.account_id", "memberships.person_id"],
        name="fk_saved_views_member",
        ondelete="CASCADE",
    ),
)
Index("ix_saved_views_account", saved_views.c.account_id, saved_views.c.person_id)


@dataclass(frozen=True, slots=True)
class SavedView:
    id: UUID
    account_id: UUID
    person_id: UUID | None
    name: str
    link_id: UUID | None
    query: str
    created_at: datetime

    @property
    def is_personal(self) -> bool:
        return self.person_id is not None

    @property
    def is_of_list(self) -> bool:
        return self.query.startswith(OF_LIST)

    @property
    def url(self) -> str:
        """Of the state, unless something in it does not exist any more."""
        if self.is_of_list:
            return f"/links?{self.query.removeprefix(OF_LIST).removeprefix('&')}"
        path = f"/links/{self.link_id}" if self.link_id else "/stats"
        return f"{path}?{self.query}" if self.query else path
