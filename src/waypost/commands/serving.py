"""`waypost serve` before its processes run: settings, secret key, schema; then this process becomes the parent."""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

from waypost import metrics
from waypost.secret_key import with_secret_key
from waypost.settings import PREFIX, Settings, SettingsError, load
from waypost.worker.parent import parent_command

APP = "waypost.app"
_MIGRATIONS = Path(__file__).parents[1] / "database" / "migrations" / "versions"
_DEFAULT_PORT = 8000
_PLAIN_PORT = 80
"""Beside TLS: where certificate authorities come to see that a name leads here."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}


def start(
    *,
    host: str,
    port: int | None,
    workers: int,
    role: str,
    data_dir: Path | None,
    tls: bool = False,
    tls_port: int | None = None,
) -> int:
    """Does not return: this process goes on as the parent."""
    if workers < 1 or not all(0 < each < 65536 for each in (port, tls_port) if each is not None):
        raise SettingsError("--workers must be at least 1, and --port and --tls-port between 1 and 65535.")
    settings = with_secret_key(_settings(port, data_dir, tls=tls, tls_port=tls_port))
    _check_countries(settings)
    _prepare_schema(settings, role)
    metrics.begin(settings.data_dir)
    chosen = port or (_PLAIN_PORT if settings.tls else _port_of(settings.base_url))
    beside = settings.tls_port if settings.tls else 0
    command = parent_command(host, chosen, tls_port=beside, workers=workers, role=role, app=APP, welcome=role == "all")
    return os.execv(command[0], command)  # noqa: S606  # our own interpreter; what was imported here is gone with it


def _settings(port: int | None, data_dir: Path | None, *, tls: bool, tls_port: int | None) -> Settings:
    """Options go into the environment, where the processes to come find them."""
    options = {"DATA_DIR": data_dir, "TLS": tls or None, "TLS_PORT": tls_port}
    os.environ |= {f"{PREFIX}{name}": str(value) for name, value in options.items() if value is not None}
    settings = load()
    if port and "base_url" not in settings.model_fields_set:
        os.environ[f"{PREFIX}BASE_URL"] = f"http://localhost:{port}"
        settings = load()
    return settings


def _port_of(base_url: str) -> int:
    parts = urlsplit(base_url)
    return parts.port or _DEFAULT_PORT if parts.hostname in _LOCAL else _DEFAULT_PORT


def _check_countries(settings: Settings) -> None:
    """Here and not first in the worker, which would be started again and again."""
    if settings.geoip_database:
        from waypost.resources.clicks.intake import countries  # noqa: PLC0415  # few have their own

        countries.dated(settings.geoip_database)


def _prepare_schema(settings: Settings, role: str) -> None:
    """Imported late: loading the migrations takes longer than all the rest, and mostly there are none."""
    if _is_surely_current(settings):
        return
    from waypost.commands import migrating  # noqa: PLC0415  # see above

    if settings.database.startswith("sqlite") and role == "all":
        asyncio.run(migrating.migrated(settings))
    else:
        asyncio.run(migrating.check(settings))


def _is_surely_current(settings: Settings) -> bool:
    """Whether SQLite's revision is that of the last migration file; False also when that is not known."""
    newest = max(path.name.partition("_")[0] for path in _MIGRATIONS.glob("[0-9]*.py"))
    path = Path(settings.database.removeprefix("sqlite:///")).absolute()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(newest,)]
    except sqlite3.Error:
        return False
