"""When a session's owner last proved who they are and by which passkey, mails sent to an address, failed sign-ins."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant, Json

revision = "0023"
down_revision = "0021"


def upgrade() -> None:
    # nobody knows which of these sessions a passkey began, so its removal could not end them
    op.execute("DELETE FROM sessions WHERE account_id IN (SELECT account_id FROM passkeys)")
    op.add_column("sessions", sa.Column("authenticated_at", Instant))
    op.execute("UPDATE sessions SET authenticated_at = created_at")
    with op.batch_alter_table("sessions") as sessions:
        sessions.alter_column("authenticated_at", existing_type=Instant(), nullable=False)
        sessions.add_column(sa.Column("passkey_id", Id))
        sessions.create_foreign_key("fk_sessions_passkey_id", "passkeys", ["passkey_id"], ["id"], ondelete="CASCADE")
        sessions.create_index("ix_sessions_passkey_id", ["passkey_id"])
    op.create_table(
        "mail_budgets",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("sent", Json, nullable=False),
        sa.Column("sent_at", Instant, nullable=False, index=True),
    )
    op.create_table(
        "sign_in_failures",
        sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("failed_at", Instant, nullable=False),
    )
