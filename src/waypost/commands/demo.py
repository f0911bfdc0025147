"""`waypost demo`: an account with invented data, to look at."""

from contextlib import closing
from dataclasses import asdict
from typing import Any

from waypost.commands.database import check_click_store, migrate_database, open_database
from waypost.commands.key_check import prepare_key
from waypost.demo import account
from waypost.kit import clock
from waypost.redirect import ChangeFeed
from waypost.secret_key import with_existing_key
from waypost.settings import Settings

_SEED = 20


async def create(settings: Settings) -> dict[str, Any]:
    """Create the account. On SQLite, it may be the first thing in the database."""
    await check_click_store(settings)
    if settings.database.startswith("sqlite"):
        await migrate_database(settings)
    async with open_database(settings) as db:
        await prepare_key(db, settings, "all")
        with closing(_feed(settings)) as feed:
            created = await account.create(with_existing_key(settings), db, feed, now=clock.now(), seed=_SEED)
    return {"email": account.EMAIL, **asdict(created)}


async def remove(settings: Settings) -> None:
    async with open_database(settings) as db:
        with closing(_feed(settings)) as feed:
            await account.remove(settings, db, feed, clock=clock.now)


def _feed(settings: Settings) -> ChangeFeed:
    return ChangeFeed(settings.data_dir / "run" / "changes")
