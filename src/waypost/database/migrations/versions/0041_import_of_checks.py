"""The import that found a link whose destination is checked. Null where a version before has written the row."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    op.add_column("import_checks", sa.Column("import_id", Id))
