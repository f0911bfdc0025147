"""The revision of a database and the newest one. Without Alembic, for processes that never migrate."""

import functools
from pathlib import Path

from sqlalchemy import text

from waypost.database.engine import Database
from waypost.database.transaction import Tx
from waypost.kit.errors import Unavailable, WaypostError

_VERSIONS = Path(__file__).parent / "migrations" / "versions"
LAST_BEFORE_BASELINE = "2edbd7bb"
"""The commit whose `waypost migrate` upgrades databases older than the baseline."""


COMPATIBLE_SINCE = "0059"
"""The oldest revision whose version of Waypost works on the newest schema.

A migration that removes or renames something sets it to the revision since which no version uses that any more.
"""


_FIND_TABLE = {
    "sqlite": text("SELECT name FROM sqlite_master WHERE name = 'alembic_version'"),
    "postgresql": text("SELECT to_regclass('alembic_version')::text"),
}
COPYING = "copying"
"""Begins the revision of a database that `waypost copy` has not completed."""


class SchemaUnknown(WaypostError):
    """The database's schema is of a version that this one cannot upgrade."""


async def pending(db: Database) -> tuple[str | None, str]:
    """Return (revision of the database, newest revision): equal when no migration is needed."""
    async with db.read() as tx:
        return await revision(tx), newest()


async def is_usable(db: Database) -> bool:
    """Return False if a migration is needed. Raise SchemaUnknown for a schema that this version cannot use.

    A newer one can be used during a rolling upgrade, if its migrations only added to it.
    """
    async with db.read() as tx:
        present = await revision(tx)
        if present is None or present <= newest():
            refuse_unknown(present)
            return present == newest()
        compatible_since = (await tx.execute(text("SELECT compatible_since FROM alembic_version"))).scalar_one()
    if compatible_since is None or compatible_since > newest() or present.startswith(COPYING):
        refuse_unknown(present)
    return True


async def find_problems(db: Database) -> list[str]:
    """Return why requests cannot be served, for people. Empty if they can."""
    try:
        is_current = await is_usable(db)
    except (Unavailable, SchemaUnknown) as error:
        return [error.message]
    return [] if is_current else ["The database's schema is not current: run `waypost migrate`."]


async def revision(tx: Tx) -> str | None:
    if await tx.scalar(_FIND_TABLE[tx.dialect.name]) is None:
        return None
    return (await tx.execute(text("SELECT version_num FROM alembic_version"))).scalar_one_or_none()


def newest() -> str:
    return max(revisions())


def refuse_unknown(revision: str | None) -> None:
    if revision is None or revision in revisions():
        return
    if revision.startswith(COPYING):
        raise SchemaUnknown("The database is an incomplete copy: waypost copy was interrupted. Run it again.")
    if revision > newest():
        raise SchemaUnknown(
            f"The database has schema {revision} of a newer version of Waypost: run that version."
            " There is no downgrade; to go back, restore the backup from before the upgrade."
        )
    raise SchemaUnknown(
        f"The database has schema {revision}, which is too old for this version: run `waypost migrate` of commit"
        f" {LAST_BEFORE_BASELINE} first, then start this version again."
    )


@functools.cache
def revisions() -> set[str]:
    """Those of this process, also when a newer version is being installed. A file name begins with the number."""
    return {path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py")}
