"""Documents of domains that say which apps open their links."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.create_table(
        "domain_app_links",
        sa.Column("domain_id", Id, primary_key=True),
        sa.Column("version", Id, nullable=False),
        sa.Column("apple_app_site_association", sa.Text),
        sa.Column("assetlinks", sa.Text),
    )
