"""`waypost demo`: an account with invented data, to look at."""

from contextlib import closing
from dataclasses import asdict
from typing import Any

from waypost.commands.database import open_database
from waypost.commands.serve import prepare
from waypost.demo import account
from waypost.kit import clock
from waypost.redirect import ChangeFeed
from waypost.secret_key import with_existing_key
from waypost.settings import Settings

_SEED = 20


async def create(settings: Settings, *, volume: float = 1.0) -> dict[str, Any]:
    """Create the account, on SQLite also before the first start of the service. `volume`: factor of visits."""
    await prepare(settings, "all")
    async with open_database(settings) as db:
        with closing(_feed(settings)) as feed:
            created = await account.create(
                with_existing_key(settings), db, feed, now=clock.now(), seed=_SEED, volume=volume
            )
    return {"email": account.EMAIL, **asdict(created)}


async def remove(settings: Settings) -> None:
    async with open_database(settings) as db:
        with closing(_feed(settings)) as feed:
            await account.remove(settings, db, feed, clock=clock.now)


def _feed(settings: Settings) -> ChangeFeed:
    return ChangeFeed(settings.data_dir / "run" / "changes")
