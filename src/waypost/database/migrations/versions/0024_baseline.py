"""The schema of version 0.1.0. It keeps the number of the last of the revisions that it replaces."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, SmallInteger, String, Text

from waypost.database.migrations import search_indexes
from waypost.database.secrets import Encrypted
from waypost.database.tables import Id, Instant, Json

revision = "0024"
down_revision = None

_NAME = Text().with_variant(Text(collation="C"), "postgresql")
"""Slugs and host names: compared byte by byte, as SQLite does."""
_DIGEST = String(64)
_ALIVE = "deleted_at IS NULL"
_CLUSTERED: dict[str, Any] = {"sqlite_with_rowid": False}
_COUNTERS: dict[str, Any] = _CLUSTERED | {"postgresql_with": {"fillfactor": 80}}
"""Leaves PostgreSQL space to update rows in place."""


def upgrade() -> None:
    _create_accounts()
    _create_links()
    _create_clicks()
    _create_webhooks()
    _create_domains()
    search_indexes.create()


def _key(type_: Any, *names: str) -> Iterator[Column[Any]]:
    return (Column(name, type_, primary_key=True, autoincrement=False) for name in names)


def _required(type_: Any, *names: str) -> Iterator[Column[Any]]:
    return (Column(name, type_, nullable=False) for name in names)


def _optional(type_: Any, *names: str) -> Iterator[Column[Any]]:
    return (Column(name, type_) for name in names)


def _account(**options: Any) -> Column[Any]:
    return Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), **options)


def _index(name: str, table: str, *columns: str | sa.TextClause, where: str | None = None) -> None:
    condition = None if where is None else sa.text(where)
    op.create_index(name, table, list(columns), sqlite_where=condition, postgresql_where=condition)


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        *_key(Id, "id"),
        Column("email", String(254), nullable=False, unique=True),
        *_required(Text, "name"),
        *_optional(Text, "password_hash"),
        *_required(Text, "plan_type"),
        *_optional(Text, "plan_status"),
        *_optional(Instant, "trial_ends_at", "renews_at"),
        Column("links_count", Integer, nullable=False, server_default="0"),
        *_required(Instant, "created_at", "updated_at"),
        *_optional(Instant, "confirmed_at", "closed_at"),
        Column("image_bytes", BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "api_keys",
        *_key(Id, "id"),
        _account(nullable=False, index=True),
        *_required(Text, "name", "prefix"),
        Column("digest", _DIGEST, nullable=False, unique=True),
        *_required(Json, "scopes"),
        *_optional(Instant, "last_used_at", "expires_at", "revoked_at"),
        *_required(Instant, "created_at"),
    )
    op.create_table(
        "left_addresses",
        *_key(_DIGEST, "digest"),
        *_required(Instant, "trial_ends_at"),
        Column("left_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "passkeys",
        *_key(Id, "id"),
        _account(nullable=False, index=True),
        Column("credential_id", LargeBinary, nullable=False, unique=True),
        *_required(LargeBinary, "public_key"),
        *_required(BigInteger, "uses"),
        *_required(Text, "name"),
        *_required(Instant, "created_at"),
        *_optional(Instant, "used_at"),
    )
    op.create_table(
        "sessions",
        *_key(Id, "id"),
        Column("digest", _DIGEST, nullable=False, unique=True),
        _account(nullable=False, index=True),
        *_required(Text, "user_agent", "ip"),
        *_required(Instant, "created_at", "seen_at"),
        Column("expires_at", Instant, nullable=False, index=True),
        *_required(Instant, "authenticated_at"),
        Column("passkey_id", Id, sa.ForeignKey("passkeys.id", ondelete="CASCADE"), index=True),
    )
    op.create_table(
        "one_time_tokens",
        *_key(_DIGEST, "digest"),
        *_required(Text, "purpose"),
        _account(index=True),
        *_optional(String(254), "email"),
        *_required(Instant, "created_at"),
        Column("expires_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "mail_budgets",
        *_key(_DIGEST, "digest"),
        *_required(Json, "sent"),
        Column("sent_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "sign_in_failures",
        *_key(Integer, "slot"),
        *_required(_DIGEST, "digest"),
        *_required(Integer, "failures"),
        *_required(Instant, "failed_at"),
    )
    op.create_table(
        "stripe_customers",
        _account(primary_key=True),
        Column("customer_id", Text, nullable=False, unique=True),
        *_optional(Instant, "ends_at"),
        *_required(Integer, "version"),
        *_required(Instant, "created_at"),
    )
    op.create_table(
        "stripe_events",
        *_key(Text, "id"),
        Column("received_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "stripe_checkouts",
        *_key(Text, "id"),
        _account(nullable=False, index=True),
        *_required(Instant, "counted_at"),
    )


def _create_links() -> None:
    op.create_table(
        "slugs",
        *_key(_NAME, "slug"),
        *_required(Id, "account_id"),
        *_optional(Id, "link_id"),
        **_CLUSTERED,
    )
    op.create_table(
        "links",
        *_key(Id, "id"),
        Column("account_id", Id, sa.ForeignKey("accounts.id"), nullable=False),
        *_required(_NAME, "slug"),
        *_required(Text, "destination_url", "title"),
        *_optional(Text, "og_title", "og_description", "og_image", "og_image_media"),
        *_required(Json, "utm_params", "tags"),
        *_required(Text, "search_text"),
        *_optional(Instant, "expires_at"),
        *_required(Boolean, "is_on"),
        *_required(Instant, "created_at", "updated_at"),
        *_optional(Instant, "deleted_at"),
        *_optional(Id, "domain_id"),
        Column("og_image_bytes", Integer, nullable=False, server_default="0"),
    )
    op.create_index(
        "uq_links_slug", "links", ["slug"], unique=True, sqlite_where=sa.text(_ALIVE), postgresql_where=sa.text(_ALIVE)
    )
    _index("ix_links_newest", "links", "account_id", "created_at", "id", "is_on", "expires_at", where=_ALIVE)
    title = (sa.text(each) for each in ("substr(search_text, 1, 64)", "created_at DESC", "id DESC"))
    _index("ix_links_title", "links", "account_id", *title, where=_ALIVE)
    if op.get_bind().dialect.name == "sqlite":  # PostgreSQL limits an index entry to less than a text may have
        _index("ix_links_search", "links", "account_id", "created_at", "id", "search_text", where=_ALIVE)
    _index("ix_links_domain", "links", "domain_id", "created_at", "id", where=f"domain_id IS NOT NULL AND {_ALIVE}")
    op.create_table("link_tags", *_key(Id, "account_id"), *_key(Text, "tag"), *_key(Id, "link_id"), **_CLUSTERED)
    op.create_table(
        "link_clicks",
        *_key(Id, "link_id"),
        *_required(Id, "account_id"),
        *_required(BigInteger, "clicks"),
        **_CLUSTERED,
    )
    _index("ix_link_clicks_most", "link_clicks", "account_id", "clicks", "link_id")
    op.create_table(
        "route_changes",
        Column("id", Integer, primary_key=True, autoincrement=True),
        *_required(_NAME, "slug"),
        *_required(Instant, "at"),
        sqlite_autoincrement=True,
    )
    _index("ix_route_changes_at", "route_changes", "at")
    op.create_table(
        "qr_looks",
        *_key(Id, "link_id"),
        *_required(Text, "foreground", "background", "level", "style"),
        *_required(SmallInteger, "size", "margin"),
        *_required(Instant, "updated_at"),
        **_CLUSTERED,
    )
    op.create_table("qr_scans", *_key(Id, "link_id"), *_required(BigInteger, "scans"), **_COUNTERS)


def _create_clicks() -> None:
    op.create_table(
        "clicks",
        *_key(Id, "id"),
        *_required(Id, "account_id", "link_id"),
        *_required(Integer, "day"),
        *_required(Instant, "created_at"),
        *_required(Text, "kind"),
        *_optional(Text, "bot"),
        *_required(Boolean, "is_scan"),
        *_required(Text, "ip", "country"),
        *_required(BigInteger, "visitor_id"),
        *_required(Text, "referrer", "device", "browser", "platform"),
        **_CLUSTERED,
    )
    _index("ix_clicks_link", "clicks", "day", "link_id", "created_at", "id", "kind")
    _index("ix_clicks_account", "clicks", "day", "account_id", "created_at", "id", "kind")
    op.create_table("click_retention", *_key(Integer, "id"), *_required(Integer, "kept_since"))
    op.create_table("spool_positions", *_key(Text, "segment"), *_required(BigInteger, "position"), **_CLUSTERED)
    counts = ("clicks", "crawlers", "previews", "prefetches", "scans", "visitors")
    of_visitors = ("new_in_15", "new_in_30", "new_in_45", "firsts", "lasts")
    op.create_table(
        "click_totals",
        *_key(Integer, "day"),
        *_key(Id, "subject_id"),
        *_key(SmallInteger, "quarter"),
        *(Column(name, Integer, nullable=False, server_default="0") for name in (*counts, *of_visitors)),
        *_optional(Instant, "first_at", "last_at"),
        **_COUNTERS,
    )
    op.create_table(
        "click_dimensions",
        *_key(Integer, "day"),
        *_key(Id, "subject_id"),
        *_key(SmallInteger, "dimension"),
        *_key(Text, "value"),
        Column("clicks", Integer, nullable=False, server_default="0"),
        **_COUNTERS,
    )
    op.create_table(
        "visitor_days",
        *_key(Integer, "day"),
        *_key(BigInteger, "visitor_id"),
        *_key(Id, "subject_id"),
        *_required(BigInteger, "morning", "afternoon"),
        **_COUNTERS,
    )
    op.create_table(
        "click_leaders",
        *_key(Id, "subject_id"),
        *_key(Text, "period"),
        _account(nullable=False, index=True),
        *_required(Integer, "first_day", "last_day"),
        *_required(BigInteger, "clicks"),
        *_required(Text, "leaders"),
        *_required(Id, "attempt"),
        **_CLUSTERED,
    )
    op.create_table(
        "jobs",
        *_key(Id, "id"),
        *_required(Text, "name"),
        *_required(Json, "payload"),
        *_optional(Id, "account_id"),
        *_required(Instant, "run_at"),
        *_required(Integer, "attempts", "max_attempts"),
        *_optional(Instant, "lease_until"),
        *_optional(Text, "leased_by", "error"),
        *_optional(Instant, "failed_at"),
        *_required(Instant, "created_at"),
    )
    _index("ix_jobs_waiting", "jobs", "run_at", where="failed_at IS NULL")


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        *_key(Id, "id"),
        *_required(Id, "account_id"),
        *_required(Text, "url"),
        *_required(Json, "event_types"),
        *_required(Encrypted, "secret"),
        *_required(Instant, "created_at", "updated_at"),
    )
    _index("ix_webhooks_account", "webhooks", "account_id", "id")
    op.create_table(
        "webhook_deliveries",
        *_key(Id, "id"),
        *_required(Id, "account_id", "webhook_id"),
        *_required(Text, "event", "body", "status"),
        *_required(SmallInteger, "attempts"),
        *_optional(Instant, "next_attempt_at", "leased_until"),
        *_optional(Integer, "response_status"),
        *_optional(Text, "error"),
        *_required(Instant, "created_at"),
        *_optional(Text, "answer"),
    )
    pending, leased = "status = 'pending'", "leased_until IS NOT NULL"
    _index("ix_webhook_deliveries_pending", "webhook_deliveries", "webhook_id", "next_attempt_at", "id", where=pending)
    _index("ix_webhook_deliveries_leased", "webhook_deliveries", "webhook_id", where=leased)
    _index("ix_webhook_deliveries_log", "webhook_deliveries", "webhook_id", "id", "status", "event")
    op.create_table(
        "pixels",
        *_key(Id, "id"),
        *_required(Id, "account_id"),
        *_required(Text, "platform", "name"),
        *_required(Encrypted, "pixel_id"),
        *_optional(Encrypted, "access_token"),
        *_required(Instant, "created_at", "updated_at"),
    )
    _index("ix_pixels_account", "pixels", "account_id", "id")
    op.create_table(
        "link_pixels", *_key(Id, "link_id"), *_key(SmallInteger, "position"), *_required(Id, "pixel_id"), **_CLUSTERED
    )
    _index("ix_link_pixels_pixel", "link_pixels", "pixel_id", "link_id")
    op.create_table(
        "pixel_events",
        *_key(Id, "id"),
        *_required(Id, "pixel_id"),
        *_required(Text, "platform", "payload"),
        *_required(Instant, "created_at"),
    )
    _index("ix_pixel_events_pixel", "pixel_events", "pixel_id", "id")
    op.create_table(
        "pixel_lots",
        *_key(Id, "pixel_id"),
        *_required(Id, "last_event"),
        *_required(SmallInteger, "attempts"),
        *_required(Instant, "next_attempt_at"),
        *_optional(Instant, "leased_until"),
        **_CLUSTERED,
    )
    _index("ix_pixel_lots_lease", "pixel_lots", "leased_until")
    op.create_table(
        "pixel_results",
        Column("pixel_id", Id, sa.ForeignKey("pixels.id", ondelete="CASCADE"), primary_key=True),
        *_required(BigInteger, "sent", "rejected", "dropped"),
        *_optional(Instant, "sent_at"),
        *_optional(Text, "reason"),
        *_optional(Instant, "reason_at"),
    )


def _create_domains() -> None:
    op.create_table(
        "domains",
        *_key(Id, "id"),
        *_required(Id, "account_id"),
        Column("hostname", _NAME, nullable=False, unique=True),
        *_required(Text, "token", "status"),
        *_required(Boolean, "is_live"),
        *_optional(Instant, "verified_at", "last_checked_at"),
        *_optional(Text, "error"),
        *_required(SmallInteger, "failures"),
        *_optional(Instant, "unverified_since", "check_at", "leased_until", "told_at"),
        *_optional(Text, "root_url", "not_found_url"),
        *_required(BigInteger, "links_count"),
        *_required(Text, "tls_status"),
        *_optional(Instant, "tls_expires_at"),
        *_optional(Text, "tls_error"),
        *_required(Instant, "created_at", "updated_at"),
        Column("needs_txt", Boolean, nullable=False, server_default=sa.false()),
    )
    _index("ix_domains_account", "domains", "account_id", "created_at", "id")
    _index("ix_domains_due", "domains", "check_at")
    _index("ix_domains_leased", "domains", "leased_until")
    _index("ix_domains_unverified", "domains", "unverified_since")
    op.create_table(
        "domain_claims",
        *_key(Id, "account_id"),
        *_key(_NAME, "hostname"),
        *_required(Instant, "since"),
        Column("ended_at", Instant, nullable=False, index=True),
    )
    op.create_table("verified_names", *_key(_NAME, "hostname"), *_key(_DIGEST, "account_digest"), **_CLUSTERED)
    op.create_table(
        "certificates",
        *_key(Id, "id"),
        Column("hostname", _NAME, nullable=False, unique=True),
        *_optional(Text, "chain"),
        *_optional(Encrypted, "key"),
        *_optional(Instant, "expires_at"),
        *_optional(Text, "error"),
        *_required(SmallInteger, "failures"),
        *_optional(Instant, "due_at", "try_at", "leased_until"),
        *_required(Boolean, "is_own"),
        *_required(Instant, "updated_at"),
    )
    _index("ix_certificates_due", "certificates", "due_at", "id")
    _index("ix_certificates_leased", "certificates", "leased_until")
    _index("ix_certificates_updated", "certificates", "updated_at")
    op.create_table(
        "acme_accounts",
        *_key(Id, "id"),
        Column("directory", Text, nullable=False, unique=True),
        *_required(Text, "url"),
        *_required(Encrypted, "key"),
    )
    op.create_table(
        "acme_orders",
        *_key(Id, "id"),
        *_required(Id, "account_id"),
        Column("ordered_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "acme_challenges",
        *_key(Text, "token"),
        *_required(Text, "answer"),
        Column("created_at", Instant, nullable=False, index=True),
    )
