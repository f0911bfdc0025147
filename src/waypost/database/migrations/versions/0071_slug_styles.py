"""Add the style of slugs that are generated on a domain."""

import sqlalchemy as sa
from alembic import op

revision = "0071"
down_revision = "0070"


def upgrade() -> None:
    op.add_column("domain_options", sa.Column("slug_length", sa.SmallInteger))
    op.add_column("domain_options", sa.Column("slug_alphabet", sa.Text))
