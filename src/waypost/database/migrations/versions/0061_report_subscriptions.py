"""Add subscriptions to reports of statistics by email, and the addresses that unsubscribed."""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, PrimaryKeyConstraint, String, Text

from waypost.database.tables import Id, Instant

revision = "0061"
down_revision = "0060"


def upgrade() -> None:
    op.create_table(
        "report_subscriptions",
        Column("id", Id, nullable=False),
        Column("account_id", Id, nullable=False),
        Column("person_id", Id, nullable=False),
        Column("recipient", String(64), nullable=False),
        Column("period", Text, nullable=False),
        Column("tag", Text),
        Column("link_id", Id),
        Column("timezone", Text, nullable=False),
        Column("sent_until", Instant),
        Column("sent_at", Instant),
        Column("problem", Text),
        Column("created_at", Instant, nullable=False),
        ForeignKeyConstraint(
            ["account_id", "person_id"],
            ["memberships.account_id", "memberships.person_id"],
            name="fk_report_subscriptions_account_id",
            ondelete="CASCADE",
        ),
        PrimaryKeyConstraint("id", name="pk_report_subscriptions"),
    )
    op.create_index("ix_report_subscriptions_account", "report_subscriptions", ["account_id", "person_id"])
    op.create_index("ix_report_subscriptions_person_id", "report_subscriptions", ["person_id"])
    op.create_index("ix_report_subscriptions_recipient", "report_subscriptions", ["recipient"])
    op.create_table(
        "unsubscribed_addresses",
        Column("digest", String(64), nullable=False),
        Column("unsubscribed_at", Instant, nullable=False),
        PrimaryKeyConstraint("digest", name="pk_unsubscribed_addresses"),
        sqlite_with_rowid=False,
    )
