"""Second factors of people, their recovery codes, and what accounts require of sign-ins."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Encrypted, Id, Instant

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    op.create_table(
        "second_factors",
        sa.Column("person_id", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("secret", Encrypted, nullable=False),
        sa.Column("last_step", sa.BigInteger, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("person_id", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
    )
    op.add_column("accounts", sa.Column("required_factor", sa.Text, nullable=False, server_default="none"))
