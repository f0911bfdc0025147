"""The schema of the first version. It keeps the number of the last of the revisions that it replaces.

Tables that these renamed keep the names of their constraints, too.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, SmallInteger, String, Text

from waypost.database.migrations import search_indexes
from waypost.database.secrets import Encrypted
from waypost.database.tables import Id, Instant, Json

revision = "0055"
down_revision = None

_NAME = Text().with_variant(Text(collation="C"), "postgresql")
"""Slugs and host names: compared byte by byte, as SQLite does."""
_DIGEST = String(64)
_EMAIL = String(254)
_ALIVE = "deleted_at IS NULL"
_CLUSTERED: dict[str, Any] = {"sqlite_with_rowid": False}
_COUNTERS: dict[str, Any] = _CLUSTERED | {"postgresql_with": {"fillfactor": 80}}
"""Leaves PostgreSQL space to update rows in place."""

# unlogged: requests of a minute are worth no disk access
# plain storage: the largest row has 600 times, 5 KB, and compressing it would take longer than everything else
# half-filled pages: PostgreSQL updates rows in place
_RATE_LIMITS = """
CREATE UNLOGGED TABLE rate_limits (
  key bytea CONSTRAINT pk_rate_limits PRIMARY KEY,
  times timestamptz[] NOT NULL,
  allowed smallint NOT NULL
) WITH (fillfactor = 50)
"""


def upgrade() -> None:
    op.add_column("alembic_version", Column("compatible_since", Text))  # `migrate` sets it
    _create_accounts()
    _create_links()
    _create_clicks()
    _create_webhooks()
    _create_domains()
    _create_imports()
    search_indexes.create()
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE link_images ALTER COLUMN content SET STORAGE EXTERNAL")  # images are compressed already
        op.execute(_RATE_LIMITS)  # SQLite keeps them in files
        op.execute("ALTER TABLE rate_limits ALTER COLUMN times SET STORAGE PLAIN")


def _key(type_: Any, *names: str) -> Iterator[Column[Any]]:
    return (Column(name, type_, primary_key=True, autoincrement=False) for name in names)


def _required(type_: Any, *names: str) -> Iterator[Column[Any]]:
    return (Column(name, type_, nullable=False) for name in names)


def _optional(type_: Any, *names: str) -> Iterator[Column[Any]]:
    return (Column(name, type_) for name in names)


def _account(**options: Any) -> Column[Any]:
    return Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), **options)


def _person(name: str = "person_id", **options: Any) -> Column[Any]:
    return Column(name, Id, sa.ForeignKey("people.id", ondelete="CASCADE"), **options)


def _index(
    name: str, table: str, *columns: str | sa.TextClause, where: str | None = None, unique: bool = False
) -> None:
    condition = None if where is None else sa.text(where)
    op.create_index(name, table, list(columns), unique=unique, sqlite_where=condition, postgresql_where=condition)


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        *_key(Id, "id"),
        Column("email", _EMAIL, nullable=False, unique=True),
        *_required(Text, "name", "plan_type"),
        *_optional(Text, "plan_status"),
        *_optional(Instant, "trial_ends_at", "renews_at"),
        Column("links_count", Integer, nullable=False, server_default="0"),
        *_required(Instant, "created_at", "updated_at"),
        *_optional(Instant, "deleted_at"),
        Column("image_bytes", BigInteger, nullable=False, server_default="0"),
        *_optional(Instant, "suspended_at"),
        *_optional(Text, "suspended_reason"),
        Column("required_factor", Text, nullable=False, server_default="none"),
    )
    op.create_table(
        "people",
        *_key(Id, "id"),
        Column("email", _EMAIL, nullable=False, unique=True),
        *_required(Text, "name"),
        *_optional(Text, "password_hash"),
        *_optional(Instant, "confirmed_at"),
        Column("is_operator", Boolean, nullable=False, server_default=sa.false()),
        *_required(Instant, "created_at", "updated_at"),
    )
    op.create_table(
        "memberships",
        _account(primary_key=True),
        _person(primary_key=True, index=True),
        *_required(Text, "role"),
        *_required(Instant, "created_at"),
        Column("by_groups", Boolean, nullable=False, server_default=sa.false()),
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
        _person("created_by", index=True),
    )
    op.create_table(
        "passkeys",
        *_key(Id, "id"),
        _person(nullable=False, index=True),
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
        _person(nullable=False, index=True),
        Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="SET NULL"), index=True),
        *_required(Text, "user_agent", "ip"),
        *_required(Instant, "created_at", "seen_at"),
        Column("expires_at", Instant, nullable=False, index=True),
        *_required(Instant, "authenticated_at"),
        Column("passkey_id", Id, sa.ForeignKey("passkeys.id", ondelete="CASCADE"), index=True),
        Column("by_provider", Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_table(
        "one_time_tokens",
        *_key(_DIGEST, "digest"),
        *_required(Text, "purpose"),
        _person(index=True),
        *_optional(_EMAIL, "email"),
        *_required(Instant, "created_at"),
        Column("expires_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "identities",
        _person(primary_key=True),
        *_required(Text, "issuer"),
        *_required(String(255), "subject"),
        *_required(_EMAIL, "email"),
        *_required(Instant, "created_at", "used_at"),
        sa.UniqueConstraint("issuer", "subject"),
    )
    op.create_table(
        "provider_sessions",
        Column("session_id", Id, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        *_required(Text, "issuer"),
        Column("subject", String(255), nullable=False, index=True),
        Column("id", String(255), index=True),
        *_required(Text, "id_token"),
    )
    op.create_table(
        "second_factors",
        _person(primary_key=True),
        *_required(Encrypted, "secret"),
        *_required(BigInteger, "last_step"),
        *_required(Instant, "created_at"),
    )
    op.create_table(
        "recovery_codes",
        *_key(_DIGEST, "digest"),
        _person(nullable=False, index=True),
    )
    op.create_table(
        "invitations",
        *_key(Id, "id"),
        _account(nullable=False, index=True),
        *_optional(_EMAIL, "email"),
        *_required(Text, "role"),
        Column("digest", _DIGEST, nullable=False, unique=True),
        _person("created_by", nullable=False, index=True),
        *_required(Instant, "created_at", "expires_at"),
        *_optional(Instant, "ended_at"),
    )
    op.create_table(
        "ownership_offers",
        _account(primary_key=True),
        _person(nullable=False, index=True),
        _person("offered_by", nullable=False, index=True),
        *_required(Text, "role_after"),
        *_required(Instant, "created_at"),
    )
    op.create_table(
        "past_emails",
        *_key(_DIGEST, "digest"),
        *_required(Instant, "trial_ends_at"),
        Column("recorded_at", Instant, nullable=False, index=True),
        sa.PrimaryKeyConstraint(name="pk_left_addresses"),
    )
    op.create_table(
        "mail_rate_limits",
        *_key(_DIGEST, "digest"),
        *_required(Json, "sent"),
        Column("sent_at", Instant, nullable=False, index=True),
        sa.PrimaryKeyConstraint(name="pk_mail_budgets"),
    )
    op.create_table(
        "sign_in_failures",
        *_key(Integer, "slot"),
        *_required(_DIGEST, "digest"),
        *_required(Integer, "failures"),
        *_required(Instant, "failed_at"),
    )
    op.create_table(
        "idempotency_keys",
        *_key(Id, "id"),
        _account(nullable=False),
        *_required(String(255), "key"),
        *_required(Id, "request_id"),
        *_required(LargeBinary, "digest"),
        *_optional(Instant, "lease_until"),
        *_optional(SmallInteger, "status"),
        *_optional(Encrypted, "answer"),
        Column("answer_bytes", Integer, nullable=False, server_default="0"),
        Column("created_at", Instant, nullable=False, index=True),
        sa.UniqueConstraint("account_id", "key"),
    )
    _index("ix_idempotency_keys_share", "idempotency_keys", "account_id", "answer_bytes")
    op.create_table(
        "audit_entries",
        *_key(Id, "account_id", "id"),
        *_required(Instant, "at"),
        *_required(Text, "actor_type"),
        *_optional(Id, "actor_id"),
        *_required(Text, "actor_name"),
        *_optional(Text, "ip"),
        *_required(Text, "action"),
        *_optional(Id, "item_id"),
        *_required(Text, "item"),
        *_optional(Json, "changes", "details"),
        **_CLUSTERED,
    )
    for name in ("actor_id", "action", "item_id"):
        _index(f"ix_audit_entries_{name}", "audit_entries", "account_id", name, "id")
    op.create_table(
        "secret_key_fingerprint",
        *_key(Integer, "id"),
        *_required(LargeBinary, "fingerprint"),
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
        *_optional(Text, "og_title", "og_description", "og_image", "og_image_file_name"),
        *_required(Json, "utm_params", "tags"),
        *_required(Text, "search_text"),
        *_optional(Instant, "expires_at"),
        *_required(Boolean, "is_enabled"),
        *_required(Instant, "created_at", "updated_at"),
        *_optional(Instant, "deleted_at"),
        *_optional(Id, "domain_id"),
        Column("og_image_bytes", Integer, nullable=False, server_default="0"),
        *_optional(Instant, "starts_at"),
        *_optional(Integer, "click_limit"),
        *_optional(Text, "created_by", "changed_by"),
    )
    _index("uq_links_slug", "links", "slug", where=_ALIVE, unique=True)
    _index("ix_links_newest", "links", "account_id", "created_at", "id", "is_enabled", "expires_at", where=_ALIVE)
    title = (sa.text(each) for each in ("substr(search_text, 1, 64)", "created_at DESC", "id DESC"))
    _index("ix_links_title", "links", "account_id", *title, where=_ALIVE)
    if op.get_bind().dialect.name == "postgresql":
        _index("ix_links_image", "links", "og_image_file_name", where="og_image_file_name IS NOT NULL")
    else:  # PostgreSQL limits an index entry to less than a text may have
        _index("ix_links_search", "links", "account_id", "created_at", "id", "search_text", where=_ALIVE)
    _index("ix_links_domain", "links", "domain_id", "created_at", "id", where=f"domain_id IS NOT NULL AND {_ALIVE}")
    is_limited = f"{_ALIVE} AND (starts_at IS NOT NULL OR click_limit IS NOT NULL)"
    _index("ix_links_limited", "links", "account_id", "id", "starts_at", "click_limit", where=is_limited)
    _index("ix_links_deleted", "links", "account_id", "id", where="deleted_at IS NOT NULL")
    op.create_table(
        "link_tags",
        *_key(Id, "account_id"),
        *_key(Text, "tag"),
        *_key(Id, "link_id"),
        **_CLUSTERED,
    )
    op.create_table(
        "link_aliases",
        *_key(Id, "id"),
        *_required(Id, "account_id", "link_id", "domain_id"),
        *_required(Text, "path"),
        *_required(Id, "digest"),
        *_required(Instant, "created_at"),
    )
    _index("ix_link_aliases_link", "link_aliases", "link_id", "created_at", "id")
    _index("uq_link_aliases_address", "link_aliases", "domain_id", "digest", unique=True)
    op.create_table(
        "link_routing",
        *_key(Id, "link_id"),
        *_required(Id, "account_id"),
        *_optional(Text, "rules", "variants", "fallback_url", "password_hash"),
        *_optional(BigInteger, "password_version"),
        *_optional(Text, "unsafe_urls"),
        Column("checked_at", Instant, nullable=False, index=True),
        *_required(Instant, "updated_at"),
    )
    op.create_table(
        "link_images",
        *_key(Text, "name"),
        *_required(LargeBinary, "content", "digest"),
        *_required(Instant, "created_at"),
    )
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
        Column("at", Instant, nullable=False, index=True),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "qr_styles",
        *_key(Id, "link_id"),
        *_required(Text, "foreground", "background", "level", "style"),
        *_required(SmallInteger, "size", "margin"),
        *_required(Instant, "updated_at"),
        sa.PrimaryKeyConstraint(name="pk_qr_looks"),
        **_CLUSTERED,
    )
    op.create_table(
        "qr_scans",
        *_key(Id, "link_id"),
        *_required(BigInteger, "scans"),
        **_COUNTERS,
    )
    op.create_table(
        "disabled_links",
        *_key(Id, "link_id"),
        Column("slug", _NAME, nullable=False, index=True),
        *_required(Text, "reason"),
        *_required(Boolean, "was_enabled"),
        *_required(Instant, "disabled_at"),
        **_CLUSTERED,
    )
    op.create_table(
        "reported_links",
        *_key(Id, "link_id"),
        Column("account_id", Id, nullable=False, index=True),
        *_required(Integer, "reports", "mailed"),
        *_optional(Instant, "mailed_at"),
        *_required(Instant, "first_at", "last_at"),
        *_optional(Instant, "closed_at"),
        *_optional(Text, "outcome"),
    )
    _index("ix_reported_links_open", "reported_links", "last_at", "link_id", where="closed_at IS NULL")
    op.create_table(
        "link_reports",
        *_key(Id, "id"),
        Column("link_id", Id, nullable=False, index=True),
        *_required(Text, "reason", "text"),
        *_optional(Text, "email"),
        *_required(Instant, "created_at"),
    )
    op.create_table(
        "bulk_changes",
        *_key(Id, "id"),
        *_required(Id, "account_id"),
        *_required(Text, "kind"),
        *_required(Json, "payload"),
        *_required(Text, "state"),
        *_required(Integer, "total", "done", "changed"),
        *_required(Json, "refused"),
        *_required(Integer, "refused_count"),
        *_optional(Json, "cursor", "step"),
        *_required(Instant, "created_at"),
        *_optional(Instant, "finished_at"),
    )
    _index("ix_bulk_changes_newest", "bulk_changes", "account_id", "created_at", "id")
    op.create_table(
        "deleted_links",
        *_key(Id, "bulk_change_id", "link_id"),
        **_CLUSTERED,
    )


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
        Column("target", Text, nullable=False, server_default=sa.text("''")),
        **_CLUSTERED,
    )
    _index("ix_clicks_account", "clicks", "day", "account_id", "created_at", "id", "kind")
    _index("ix_clicks_link", "clicks", "day", "link_id", "created_at", "id", "kind")
    op.create_table(
        "click_retention",
        *_key(Integer, "id"),
        *_required(Integer, "kept_since"),
    )
    op.create_table(
        "spool_positions",
        *_key(Text, "segment"),
        *_required(BigInteger, "position"),
        *_optional(BigInteger, "pending_end"),
        *_optional(Text, "pending_token"),
        **_CLUSTERED,
    )
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
        "top_values_cache",
        *_key(Id, "subject_id"),
        *_key(Text, "time_range"),
        Column("account_id", Id, nullable=False, index=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], ondelete="CASCADE", name="fk_click_leaders_account_id"
        ),
        *_required(Integer, "first_day", "last_day"),
        *_required(BigInteger, "clicks"),
        *_required(Text, "top_values"),
        *_required(Id, "attempt"),
        sa.PrimaryKeyConstraint(name="pk_click_leaders"),
        **_CLUSTERED,
    )
    op.create_table(
        "hour_values_cache",
        *_key(Id, "subject_id"),
        *_key(Integer, "day"),
        *_key(SmallInteger, "hour"),
        _account(nullable=False, index=True),
        *_required(Integer, "clicks"),
        *_required(Text, "value_counts"),
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
        Column("deaths", Integer, nullable=False, server_default="0"),
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
        *_optional(Text, "response_body"),
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
        "link_pixels",
        *_key(Id, "link_id"),
        *_key(SmallInteger, "position"),
        *_required(Id, "pixel_id"),
        **_CLUSTERED,
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
        "pixel_batches",
        *_key(Id, "pixel_id"),
        *_required(Id, "last_event"),
        *_required(SmallInteger, "attempts"),
        *_required(Instant, "next_attempt_at"),
        *_optional(Instant, "leased_until"),
        sa.PrimaryKeyConstraint(name="pk_pixel_lots"),
        **_CLUSTERED,
    )
    _index("ix_pixel_batches_lease", "pixel_batches", "leased_until")
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
        *_required(Boolean, "is_served"),
        *_optional(Instant, "verified_at", "last_checked_at"),
        *_optional(Text, "error"),
        *_required(SmallInteger, "failures"),
        *_optional(Instant, "unverified_since", "check_at", "leased_until", "notified_at"),
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
        "domain_app_links",
        *_key(Id, "domain_id"),
        *_required(Id, "version"),
        *_optional(Text, "apple_app_site_association", "assetlinks"),
    )
    op.create_table(
        "unverified_registrations",
        *_key(Id, "account_id"),
        *_key(_NAME, "hostname"),
        *_required(Instant, "since"),
        Column("ended_at", Instant, nullable=False, index=True),
        sa.PrimaryKeyConstraint(name="pk_domain_claims"),
    )
    op.create_table(
        "verified_names",
        *_key(_NAME, "hostname"),
        *_key(_DIGEST, "account_digest"),
        **_CLUSTERED,
    )
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
        *_required(Text, "key_authorization"),
        Column("created_at", Instant, nullable=False, index=True),
    )


def _create_imports() -> None:
    op.create_table(
        "imports",
        *_key(Id, "id"),
        _account(nullable=False),
        *_required(Text, "source"),
        *_required(Json, "options"),
        *_optional(Encrypted, "token"),
        *_required(Text, "state"),
        *_optional(Json, "cursor"),
        *_required(Json, "counts", "warnings"),
        *_optional(Integer, "total"),
        *_optional(Text, "error"),
        *_optional(Instant, "lease_until"),
        *_optional(Text, "leased_by"),
        *_required(Instant, "created_at", "updated_at"),
        *_optional(Json, "actor"),
    )
    _index("ix_imports_account", "imports", "account_id", "created_at", "id")
    op.create_table(
        "import_refusals",
        Column("import_id", Id, sa.ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
        *_key(Integer, "number"),
        *_required(Text, "source_id", "reason"),
        **_CLUSTERED,
    )
    op.create_table(
        "imported_links",
        _account(primary_key=True),
        *_key(Id, "key"),
        *_required(Id, "link_id"),
        *_required(Text, "digest"),
        **_CLUSTERED,
    )
    op.create_table(
        "imported_routing",
        *_key(Id, "link_id"),
        _account(nullable=False, index=True),
        *_required(Encrypted, "routing"),
        **_CLUSTERED,
    )
    op.create_table(
        "imported_clicks",
        *_key(Id, "link_id"),
        *_required(Id, "account_id"),
        *_required(BigInteger, "clicks"),
        **_CLUSTERED,
    )
    _index("ix_imported_clicks_account", "imported_clicks", "account_id", "clicks")
    op.create_table(
        "import_checks",
        *_key(Id, "link_id"),
        _account(nullable=False),
        *_optional(Text, "problem"),
        *_optional(Instant, "checked_at"),
        *_optional(Id, "import_id"),
        **_CLUSTERED,
    )
    _index("ix_import_checks_account", "import_checks", "account_id", "checked_at", "link_id")
    op.create_table(
        "import_requests",
        *_key(Id, "id"),
        _account(nullable=False),
        *_required(Text, "source", "state"),
        *_optional(Text, "url"),
        *_optional(Encrypted, "token"),
        *_required(Boolean, "has_clicks"),
        *_optional(Text, "timezone"),
        *_required(Json, "domains"),
        *_optional(Text, "file_name"),
        *_optional(BigInteger, "file_size"),
        *_required(Json, "plan"),
        *_optional(Id, "import_id"),
        *_optional(Text, "message"),
        *_required(Integer, "failures"),
        *_required(Instant, "created_at", "updated_at"),
        *_optional(Json, "actor"),
    )
    _index("ix_import_requests_account", "import_requests", "account_id", "id")
    op.create_table(
        "import_file_pieces",
        Column("request_id", Id, sa.ForeignKey("import_requests.id", ondelete="CASCADE"), primary_key=True),
        *_key(BigInteger, "start"),
        *_required(LargeBinary, "content"),
    )
