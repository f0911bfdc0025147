"""Drop the values of hours that were counted in advance."""

from alembic import op

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    op.drop_table("hour_values_cache")
