"""Drop the routing that imports stored before links could have any."""

from alembic import op

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    op.drop_table("imported_routing")
