"""The schema as the commands meet it: current, behind, or not there yet."""

from waypost.database import Database
from waypost.database.schema import pending, refuse_unknown
from waypost.kit.errors import WaypostError
from waypost.secret_key import make_data_dir
from waypost.settings import Settings


class SchemaBehind(WaypostError):
    """The database's schema is not current. Run: waypost migrate"""


async def migrated(settings: Settings) -> tuple[str | None, str]:
    """Brings it up to date. Returns (revision before, revision after)."""
    from waypost.database.migrations import migrate  # noqa: PLC0415  # Alembic takes half a second, rarely needed

    make_data_dir(settings.data_dir)
    db = Database(settings.database, readers=1)
    try:
        return await migrate(db)
    finally:
        await db.close()


async def require_current(db: Database) -> None:
    """Raise SchemaBehind, also when there is no SQLite database yet, or SchemaUnknown."""
    if db.dialect == "sqlite" and not db.path.exists():
        raise SchemaBehind("There is no database yet. Run: waypost migrate")
    present, newest = await pending(db)
    refuse_unknown(present)
    if present != newest:
        raise SchemaBehind


async def check(settings: Settings) -> None:
    db = Database(settings.database, readers=1)
    try:
        await require_current(db)
    finally:
        await db.close()
