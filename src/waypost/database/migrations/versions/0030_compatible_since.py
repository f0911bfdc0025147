"""The oldest schema whose version of Waypost works on this one, for rolling upgrades. `migrate` writes it."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.add_column("alembic_version", sa.Column("compatible_since", sa.Text))
