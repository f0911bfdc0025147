"""`waypost serve` before its processes run: settings, secret key, schema; then this process becomes the parent."""

import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

from waypost.database import Database
from waypost.database.migrations import migrate, pending
from waypost.kit.errors import WaypostError
from waypost.secret_key import with_secret_key
from waypost.settings import PREFIX, Settings, load
from waypost.worker.parent import parent_command

APP = "waypost.app"
_DEFAULT_PORT = 8000
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class SchemaBehind(WaypostError):
    """The database's schema is not current. Run: waypost migrate"""


def start(*, host: str, port: int | None, workers: int, role: str, data_dir: Path | None) -> int:
    """Does not return: this process goes on as the parent."""
    settings = with_secret_key(_settings(port, data_dir))
    asyncio.run(_prepare(settings, role))
    chosen = port or _port_of(settings.base_url)
    command = parent_command(host, chosen, workers=workers, role=role, app=APP, welcome=role == "all")
    return os.execv(command[0], command)  # noqa: S606  # our own interpreter; what was imported here is gone with it


def _settings(port: int | None, data_dir: Path | None) -> Settings:
    """Options go into the environment, where the processes to come find them."""
    if data_dir:
        os.environ[f"{PREFIX}DATA_DIR"] = str(data_dir)
    settings = load()
    if port and "base_url" not in settings.model_fields_set:
        os.environ[f"{PREFIX}BASE_URL"] = f"http://localhost:{port}"
        settings = load()
    return settings


def _port_of(base_url: str) -> int:
    parts = urlsplit(base_url)
    return parts.port or _DEFAULT_PORT if parts.hostname in _LOCAL else _DEFAULT_PORT


async def _prepare(settings: Settings, role: str) -> None:
    if settings.database.startswith("sqlite") and role == "all":
        await migrated(settings)
        return
    db = Database(settings.database, readers=1)
    try:
        await check_schema(db)
    finally:
        await db.close()


async def migrated(settings: Settings) -> tuple[str | None, str]:
    with_secret_key(settings)  # makes the data directory too
    db = Database(settings.database, readers=1)
    try:
        return await migrate(db)
    finally:
        await db.close()


async def check_schema(db: Database) -> None:
    """Raises SchemaBehind; on SQLite also when there is no database yet."""
    if db.dialect == "sqlite" and not db.path.exists():
        raise SchemaBehind("There is no database yet. Run: waypost migrate")
    present, newest = await pending(db)
    if present != newest:
        raise SchemaBehind
