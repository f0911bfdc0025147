"""Which revision a database is at, and which it should be at. For processes that never migrate: no Alembic here."""

from pathlib import Path

from sqlalchemy import inspect, text

from waypost.database.engine import Database, Tx

_VERSIONS = Path(__file__).parent / "migrations" / "versions"


async def pending(db: Database) -> tuple[str | None, str]:
    """(revision of the database, newest revision): equal when nothing is left to do."""
    async with db.read() as tx:
        return await revision(tx), newest()


async def revision(tx: Tx) -> str | None:
    if not await tx.run_sync(lambda connection: inspect(connection).has_table("alembic_version")):
        return None
    return (await tx.execute(text("SELECT version_num FROM alembic_version"))).scalar_one_or_none()


def newest() -> str:
    """Revisions are numbered, and a revision's file begins with its number."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py"))
