"""Add the time zone of people, and their formats of dates and numbers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Text

revision = "0079"
down_revision = "0078"


def upgrade() -> None:
    for name in ("timezone", "date_format", "number_format"):
        op.add_column("people", Column(name, Text))
    # who chose a time zone for reports keeps that of the newest one
    op.execute(
        sa.text(
            "UPDATE people SET timezone = (SELECT timezone FROM report_subscriptions"
            " WHERE report_subscriptions.person_id = people.id ORDER BY report_subscriptions.id DESC LIMIT 1)"
        )
    )
