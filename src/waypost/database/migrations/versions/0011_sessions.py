"""Who is signed in, one-time links, passkeys, and whose addresses are proven."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("accounts", sa.Column("confirmed_at", Instant))
    op.add_column("accounts", sa.Column("closed_at", Instant))
    op.execute("UPDATE accounts SET confirmed_at = created_at")  # operators made them all
    op.create_table(
        "sessions",
        sa.Column("id", Id, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("user_agent", sa.Text, nullable=False),
        sa.Column("ip", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("seen_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "one_time_tokens",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
        sa.Column("email", sa.String(254)),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "passkeys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("credential_id", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("uses", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("used_at", Instant),
    )
