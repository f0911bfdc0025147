"""Custom domains, the links on them, and the certificates they are served with."""

import sqlalchemy as sa
from alembic import op

from waypost.database.secrets import Encrypted
from waypost.database.types import Id, Instant

revision = "0010"
down_revision = "0009"

_NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "domains",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("hostname", _NAME, nullable=False, unique=True),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("is_live", sa.Boolean, nullable=False),
        sa.Column("verified_at", Instant),
        sa.Column("last_checked_at", Instant),
        sa.Column("error", sa.Text),
        sa.Column("failures", sa.SmallInteger, nullable=False),
        sa.Column("unverified_since", Instant),
        sa.Column("check_at", Instant),
        sa.Column("leased_until", Instant),
        sa.Column("told_at", Instant),
        sa.Column("root_url", sa.Text),
        sa.Column("not_found_url", sa.Text),
        sa.Column("links_count", sa.BigInteger, nullable=False),
        sa.Column("tls_status", sa.Text, nullable=False),
        sa.Column("tls_expires_at", Instant),
        sa.Column("tls_error", sa.Text),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_domains_account", "domains", ["account_id", "created_at", "id"])
    op.create_index("ix_domains_due", "domains", ["check_at"])
    op.create_index("ix_domains_leased", "domains", ["leased_until"])
    op.create_index("ix_domains_unverified", "domains", ["unverified_since"])
    op.create_table(
        "domain_claims",
        sa.Column("account_id", Id, primary_key=True),
        sa.Column("hostname", _NAME, primary_key=True),
        sa.Column("since", Instant, nullable=False),
        sa.Column("ended_at", Instant, nullable=False, index=True),
    )
    # no link has a host name yet: there were no domains
    op.drop_column("links", "hostname")
    op.add_column("links", sa.Column("domain_id", Id))
    alive = sa.text("domain_id IS NOT NULL AND deleted_at IS NULL")
    columns = ["domain_id", "created_at", "id"]
    op.create_index("ix_links_domain", "links", columns, sqlite_where=alive, postgresql_where=alive)
    _create_certificates()


def _create_certificates() -> None:
    op.create_table(
        "certificates",
        sa.Column("id", Id, primary_key=True),
        sa.Column("hostname", _NAME, nullable=False, unique=True),
        sa.Column("chain", sa.Text),
        sa.Column("key", Encrypted),
        sa.Column("expires_at", Instant),
        sa.Column("error", sa.Text),
        sa.Column("failures", sa.SmallInteger, nullable=False),
        sa.Column("due_at", Instant),
        sa.Column("try_at", Instant),
        sa.Column("leased_until", Instant),
        sa.Column("is_own", sa.Boolean, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_certificates_due", "certificates", ["due_at", "id"])
    op.create_index("ix_certificates_leased", "certificates", ["leased_until"])
    op.create_index("ix_certificates_updated", "certificates", ["updated_at"])
    op.create_table(
        "acme_accounts",
        sa.Column("id", Id, primary_key=True),
        sa.Column("directory", sa.Text, nullable=False, unique=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("key", Encrypted, nullable=False),
    )
    op.create_table(
        "acme_orders",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("ordered_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "acme_challenges",
        sa.Column("token", sa.Text, primary_key=True),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False, index=True),
    )
