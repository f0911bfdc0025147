"""Opens and migrates the database for a command, and reads the accounts and times of options."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from datetime import datetime
from typing import TYPE_CHECKING

from waypost import accounts
from waypost.accounts import Account, Person
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.context import Context
from waypost.database import Database
from waypost.database.schema import is_usable, pending
from waypost.kit import clock
from waypost.kit.errors import Invalid, NotFound, WaypostError
from waypost.redirect import ChangeFeed
from waypost.resources.clicks.backends import new_click_store, new_clickhouse_store
from waypost.resources.clicks.store import ClickStore
from waypost.secret_key import make_data_dir, with_existing_key
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.clickhouse import ClickHouseStore


class SchemaBehind(WaypostError):
    """The database's schema is not current. Run: waypost migrate"""


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[Database]:
    """Raise SchemaBehind, also when there is no SQLite database yet, or SchemaUnknown."""
    async with Database(settings.database, readers=1) as db:
        if db.dialect == "sqlite" and not db.path.exists():
            raise SchemaBehind("There is no database yet. Run: waypost migrate")
        if not await is_usable(db):
            raise SchemaBehind
        yield db


@asynccontextmanager
async def open_deps(settings: Settings) -> AsyncIterator[Deps]:
    """For commands that change people and accounts. Raises as `open_database`."""
    async with open_database(settings) as db:
        yield new_deps(settings, db, clock.now)


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncIterator[Context]:
    """For commands that change what a running service redirects. Raises as `open_database`."""
    from waypost import logs
    from waypost.composition import new_context  # half of the application

    logs.configure()  # to stderr
    async with open_database(settings) as db:
        with closing(ChangeFeed(settings.data_dir / "run" / "changes")) as feed:
            context = new_context(with_existing_key(settings), db, feed.publish)
            try:
                yield context
            finally:
                await context.click_store.close()


@asynccontextmanager
async def open_click_store(settings: Settings) -> AsyncIterator[ClickStore]:
    """Raise ClickHouseUnusable, or Unavailable."""
    if settings.clickhouse_url:
        async with open_clickhouse_store(settings) as clickhouse:
            yield clickhouse
    else:
        yield new_click_store(settings)


@asynccontextmanager
async def open_clickhouse_store(settings: Settings) -> "AsyncIterator[ClickHouseStore]":
    """Raise ClickHouseUnusable, or Unavailable."""
    await check_click_store(settings)
    async with _clickhouse_store(settings) as store:
        yield store


@asynccontextmanager
async def _clickhouse_store(settings: Settings) -> "AsyncIterator[ClickHouseStore]":
    """Open it without a check of its tables."""
    store = new_clickhouse_store(settings)
    try:
        yield store
    finally:
        await store.close()


async def migrate_database(settings: Settings, *, on_wait: Callable[[], None] = lambda: None) -> tuple[str | None, str]:
    """Return (revision before, revision after). `on_wait` is called while other transactions hold locks.

    On PostgreSQL, a schema of a newer version that this one can use stays: nodes of both run in a rolling upgrade.
    """
    make_data_dir(settings.data_dir)
    async with Database(settings.database, readers=1) as db:
        if db.dialect == "postgresql" and (present := (await pending(db))[0]) and await is_usable(db):
            return present, present
        from waypost.database.migrations import migrate  # importing Alembic takes half a second

        return await migrate(db, on_wait=on_wait)


async def is_migration_due(settings: Settings) -> bool:
    """Whether `migrate_database` would change the schema of an existing database. Raises SchemaUnknown."""
    async with Database(settings.database, readers=1) as db:
        if db.dialect == "sqlite" and not db.path.exists():
            return False
        return (await pending(db))[0] is not None and not await is_usable(db)


async def migrate_click_store(settings: Settings) -> tuple[int, int]:
    """Return (version before, version after) of the tables in ClickHouse."""
    from waypost.resources.clicks.backends.clickhouse.schema import migrate

    async with _clickhouse_store(settings) as store:
        return await migrate(store.client, settings.clickhouse_cluster)


async def check_click_store(settings: Settings, *, may_be_away: bool = False) -> None:
    """Raise ClickHouseUnusable if its tables or settings are wrong, or Unavailable unless it `may_be_away`."""
    if not settings.clickhouse_url:
        return
    from waypost.resources.clicks.backends.clickhouse.schema import check

    async with _clickhouse_store(settings) as store:
        await check(store.client, may_be_away=may_be_away)


async def get_account(db: Database, email: str) -> Account:
    try:
        return await accounts.get_account(db, email)
    except NotFound:
        raise NotFound(f"There is no account {email}. List all accounts with: waypost account list") from None


async def get_person(db: Database, email: str) -> Person:
    try:
        return await accounts.get_person(db, email)
    except NotFound:
        text = f"Nobody signs in with {email}. List the members of an account with: waypost member list --account EMAIL"
        raise NotFound(text) from None


def parse_time(option: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse_timestamp(text)
    except ValueError:
        raise Invalid({option: [f"{text} is not a time such as 2026-11-20T02:56:16Z."]}) from None


def parse_day(option: str, text: str | None) -> int | None:
    """Return days since 1970."""
    at = parse_time(option, text)
    return None if at is None else (at - clock.EPOCH).days
