"""Drop the routing that imports stored before links could have any, and name a starter of imports that have none."""

from alembic import op

revision = "0056"
down_revision = "0055"

_SYSTEM = """{"type": "system", "id": null, "name": "", "ip": null}"""


def upgrade() -> None:
    op.drop_table("imported_routing")
    for table in ("imports", "import_requests"):
        op.execute(f"UPDATE {table} SET actor = '{_SYSTEM}' WHERE actor IS NULL")  # noqa: S608  # constants
