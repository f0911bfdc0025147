"""Tables of links, and a link."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    func,
    select,
    text,
)

from waypost.database import Id, Instant, Json, metadata, only_where
from waypost.resources import domains, pixels
from waypost.worker.jobs import LONG, JobKind

CHANGE_JOB = JobKind("links.change_many", LONG, max_attempts=1_000)
PURGE_JOB = JobKind("links.purge_deleted", LONG, max_attempts=1_000)  # each purges what it has time for
"""Of changes of many links from the dashboard."""

LinkStatus = Literal["active", "inactive"]

UNTITLED = "Untitled"

# PostgreSQL's default collation depends on the server's locale; slugs compare byte by byte everywhere
SLUG = Text().with_variant(Text(collation="C"), "postgresql")

slugs = Table(
    "slugs",
    metadata,
    Column("slug", SLUG, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("link_id", Id),  # null: only the account that had it may use it again, since its printed QR codes live on
    sqlite_with_rowid=False,
)

links = Table(
    "links",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id"), nullable=False),
    Column("slug", SLUG, nullable=False),
    Column("domain_id", Id),  # null or a deleted domain: the shared one, whatever its name is then
    Column("destination_url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("og_title", Text),
    Column("og_description", Text),
    Column("og_image", Text),
    Column("og_image_file_name", Text),  # of an uploaded image; og_image is null then
    Column("og_image_bytes", Integer, nullable=False, server_default="0"),  # size of that file
    Column("utm_params", Json, nullable=False),
    Column("tags", Json, nullable=False),
    Column("search_text", Text, nullable=False),  # case-folded in Python: SQLite folds ASCII only
    Column("expires_at", Instant),
    Column("is_enabled", Boolean, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("deleted_at", Instant),  # the row stays, so that clicks still in the spool find their account
    Column("starts_at", Instant),  # this and the next belong to the routing; here the status needs no join
    Column("click_limit", Integer),
    Column("created_by", Text),  # for the dashboard only
    Column("changed_by", Text),
    Column("folded_slug", SLUG),  # the slug in lower case; null for a generated one
    Column("forward_query", Text),  # see `kit.forward_query`; null: as the domain says
    Column("forward_path", Boolean),  # the same
    Column("note", Text),
    Column("external_id", SLUG),
)
NOT_DELETED = links.c.deleted_at.is_(None)
Index("uq_links_slug", links.c.slug, unique=True, **only_where(NOT_DELETED))
_IS_NAMED = NOT_DELETED & links.c.folded_slug.is_not(None)
Index("ix_links_folded", *links.c["folded_slug", "domain_id"], **only_where(_IS_NAMED))
_IS_EXTERNAL = NOT_DELETED & links.c.external_id.is_not(None)
Index("uq_links_external_id", *links.c["account_id", "external_id"], unique=True, **only_where(_IS_EXTERNAL))
TITLE = text("substr(search_text, 1, 64)")  # as text: no database matches bound numbers with an index expression
"""Sort key of lists by title: the searchable text begins with the title, case-folded."""
Index(
    "ix_links_newest",  # covers the filters, so that links that do not match cost no row
    *links.c["account_id", "created_at", "id", "is_enabled", "expires_at"],
    **only_where(NOT_DELETED),
)
Index(
    "ix_links_title",
    links.c.account_id,
    TITLE,
    links.c.created_at.desc(),
    links.c.id.desc(),
    **only_where(NOT_DELETED),
)
Index(  # PostgreSQL allows no entry of this length
    "ix_links_search",
    *links.c["account_id", "created_at", "id", "search_text"],
    sqlite_where=NOT_DELETED,
    info={"only": "sqlite"},
)
Index(  # needs pg_trgm. fastupdate is off: one write would have to flush what a thousand others left pending
    "ix_links_trigrams",
    links.c.search_text,
    postgresql_using="gin",
    postgresql_ops={"search_text": "gin_trgm_ops"},
    postgresql_with={"fastupdate": "off"},
    postgresql_where=NOT_DELETED,
    info={"only": "postgresql"},
)

Index("ix_links_deleted", *links.c["account_id", "id"], **only_where(links.c.deleted_at.is_not(None)))
_IS_LIMITED = NOT_DELETED & (links.c.starts_at.is_not(None) | links.c.click_limit.is_not(None))
Index("ix_links_limited", *links.c["account_id", "id", "starts_at", "click_limit"], **only_where(_IS_LIMITED))
_ON_DOMAIN = NOT_DELETED & links.c.domain_id.is_not(None)
Index("ix_links_domain", *links.c["domain_id", "created_at", "id"], **only_where(_ON_DOMAIN))
_IMAGE = links.c.og_image_file_name
Index("ix_links_image", _IMAGE, **only_where(_IMAGE.is_not(None)), info={"only": "postgresql"})

HOSTNAME = domains.hostname_subquery(links.c.domain_id)
"""Scalar subquery: the hostname of the link; null on the shared domain."""

# a table of its own: thousands of counters change together, and a counter's row is smaller than a link's
link_clicks = Table(
    "link_clicks",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("clicks", BigInteger, nullable=False),
    Column("last_click_at", Instant),  # or a little later
    sqlite_with_rowid=False,
)
Index("ix_link_clicks_most", *link_clicks.c["account_id", "clicks", "link_id"])

imported_clicks = Table(  # totals that another service counted, for links that were imported without their clicks
    "imported_clicks",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("clicks", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
Index("ix_imported_clicks_account", imported_clicks.c.account_id, imported_clicks.c.clicks)

link_tags = Table(
    "link_tags",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("tag", Text, primary_key=True),
    Column("link_id", Id, primary_key=True),
    sqlite_with_rowid=False,
)

link_images = Table(  # on PostgreSQL; on SQLite images are files
    "link_images",
    metadata,
    Column("name", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # SHA-256 of the content
    Column("created_at", Instant, nullable=False),
)

route_changes = Table(
    "route_changes",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("slug", SLUG, nullable=False),
    Column("at", Instant, nullable=False, index=True),
    sqlite_autoincrement=True,  # never reuses a number, so readers miss nothing after old rows are deleted
)

bulk_changes = Table(  # of the dashboard; those of the API are not stored
    "bulk_changes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", Json, nullable=False),  # which links, and what to do with them
    Column("state", Text, nullable=False),
    Column("total", Integer, nullable=False),  # links that matched at the start
    Column("done", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("refused", Json, nullable=False),  # the first ones: [short URL, reason]
    Column("refused_count", Integer, nullable=False),
    Column("cursor", Json),  # the last link that is done
    Column("step", Json),  # [link, new destination] of those in work: a repeated step must not replace twice
    Column("created_at", Instant, nullable=False),
    Column("finished_at", Instant),
)
Index("ix_bulk_changes_newest", *bulk_changes.c["account_id", "created_at", "id"])

deleted_links = Table(  # those that can be restored
    "deleted_links",
    metadata,
    Column("bulk_change_id", Id, primary_key=True),
    Column("link_id", Id, primary_key=True),
    sqlite_with_rowid=False,
)

disabled_links = Table(  # by the operator
    "disabled_links",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("slug", SLUG, nullable=False, index=True),  # no other link gets it, even if the link is deleted
    Column("reason", Text, nullable=False),
    Column("was_enabled", Boolean, nullable=False),  # before
    Column("disabled_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

ROUTE_CHANNEL = "waypost_routes"
"""PostgreSQL's notifications of route changes: each carries a slug, a `host_change` or a `pixel_change`."""


@dataclass(frozen=True, slots=True)
class Link:
    """The defaults are those of a new link."""

    id: UUID
    account_id: UUID
    created_at: datetime
    updated_at: datetime
    slug: str = ""
    """Empty until the link has a generated one."""
    domain_id: UUID | None = None
    hostname: str | None = None
    """None on the shared domain."""
    destination_url: str = ""
    title: str = UNTITLED
    og_title: str | None = None
    og_description: str | None = None
    og_image: str | None = None
    og_image_file_name: str | None = None
    og_image_bytes: int = 0
    utm_params: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    expires_at: datetime | None = None
    pixel_ids: list[UUID] = field(default_factory=list)
    is_enabled: bool = True
    clicks: int = 0
    starts_at: datetime | None = None
    click_limit: int | None = None
    disabled_reason: str | None = None
    """Why the operator disabled the link; then the owner cannot enable it."""
    created_by: str | None = None
    changed_by: str | None = None
    forward_query: str | None = None
    """What is forwarded of the visitor's query, as text of `kit.forward_query`. None: as the domain says."""
    forward_path: bool | None = None
    folded_slug: str | None = None
    """The slug in lower case. None for a generated one, which visitors reach in its own case only."""
    note: str | None = None
    external_id: str | None = None
    """Of the link in another system; unique in the account."""

    def status_at(self, now: datetime) -> LinkStatus:
        is_over = self.expires_at is not None and self.expires_at <= now
        is_early = self.starts_at is not None and self.starts_at > now
        is_used_up = self.click_limit is not None and self.clicks >= self.click_limit
        return "active" if self.is_enabled and not (is_over or is_early or is_used_up) else "inactive"

    def short_url(self, shared_domain: str) -> str:
        """Return the short URL without its scheme."""
        return f"{self.hostname or shared_domain}/{self.slug}"

    @property
    def search_text(self) -> str:
        """Searchable text. No search has a line break, so none matches across two fields."""
        note = f"\n{self.note}" if self.note else ""
        return f"{self.title}\n{self.slug}\n{self.destination_url}{note}".casefold()


CLICKS: ColumnElement[int] = func.coalesce(
    select(link_clicks.c.clicks).where(link_clicks.c.link_id == links.c.id).scalar_subquery(), 0
)
"""Scalar subquery: the clicks of the link."""

_FROM_OTHER_TABLES: dict[str, ColumnElement[Any]] = {
    "hostname": HOSTNAME,
    "clicks": CLICKS,
    "pixel_ids": pixels.pixel_ids_subquery(links.c.id),
    "disabled_reason": select(disabled_links.c.reason).where(disabled_links.c.link_id == links.c.id).scalar_subquery(),
}
COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    _FROM_OTHER_TABLES[name].label(name) if name in _FROM_OTHER_TABLES else links.c[name]
    for name in Link.__dataclass_fields__
)
