"""What commands begin with: the database open and current, the account that was named, the moment that was given."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from waypost import auth
from waypost.auth import Account
from waypost.commands.migrating import require_current
from waypost.database import Database
from waypost.kit import clock
from waypost.kit.errors import Invalid, NotFound
from waypost.settings import Settings


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[Database]:
    db = Database(settings.database, readers=1)
    try:
        await require_current(db)
        yield db
    finally:
        await db.close()


async def account(db: Database, email: str) -> Account:
    try:
        return await auth.find_account(db, email)
    except NotFound:
        raise NotFound(f"There is no account {email}: waypost account list shows them.") from None


def moment(option: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse_timestamp(text)
    except ValueError:
        raise Invalid({option: [f"{text} is not a time such as 2026-11-20T02:56:16Z."]}) from None
