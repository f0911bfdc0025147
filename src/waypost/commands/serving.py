"""`waypost serve` before its processes run: settings, secret key, schema; then this process becomes the parent."""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

from waypost import metrics
from waypost.commands.checking import load_checked
from waypost.kit.errors import Invalid, Problems
from waypost.secret_key import with_secret_key
from waypost.settings import PREFIX, Settings, read
from waypost.worker.parent import parent_command

APP = "waypost.app"
_MIGRATIONS = Path(__file__).parents[1] / "database" / "migrations" / "versions"
_DEFAULT_PORT = 8000
_PLAIN_PORT = 80
"""Beside TLS: where certificate authorities come to see that a name leads here."""
_WORKER_PORT = 8001
"""A worker mostly runs beside web processes, with which it shares the data directory."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}


def start(
    *,
    host: str,
    port: int | None,
    workers: int | None,
    role: str,
    data_dir: Path | None,
    tls: bool = False,
    tls_port: int | None = None,
) -> int:
    """Does not return: this process goes on as the parent."""
    _check_options(host, port, workers, role, tls_port)
    settings = _settings(port, data_dir, tls=tls, tls_port=tls_port)
    chosen = port or _default_port(settings, role)
    beside = settings.tls_port if settings.tls and role != "worker" else 0
    if tls_port and not settings.tls:
        raise Invalid({"--tls-port": ["This has no effect without --tls."]})
    if beside == chosen:
        raise Invalid({"--tls-port": [f"HTTP is served on {chosen} already: choose another port for one of the two."]})
    settings = with_secret_key(settings)
    _prepare_schema(settings, role)
    metrics.reset_counters(settings.data_dir)
    command = parent_command(
        host, chosen, tls_port=beside, workers=workers or 1, role=role, app=APP, welcome=role == "all"
    )
    return os.execv(command[0], command)  # noqa: S606  # our own interpreter; what was imported here is gone with it


def _check_options(host: str, port: int | None, workers: int | None, role: str, tls_port: int | None) -> None:
    """Raises Invalid, also for what would have no effect."""
    problems = Problems()
    if not host:
        problems.add("--host", "This must not be empty; 0.0.0.0 is every address.")
    for option, given in (("--port", port), ("--tls-port", tls_port)):
        if given is not None and not 0 < given < 65_536:
            problems.add(option, "This must be between 1 and 65535.")
    if workers is not None and workers < 1:
        problems.add("--workers", "This must be at least 1.")
    if role == "worker":
        if workers is not None:
            problems.add("--workers", "This has no effect with --role worker, which is one process.")
        if tls_port is not None:
            problems.add("--tls-port", "This has no effect with --role worker, which does not serve HTTPS.")
    problems.raise_if_any()


def _settings(port: int | None, data_dir: Path | None, *, tls: bool, tls_port: int | None) -> Settings:
    """Options go into the environment, where the processes to come find them. Raises SettingsError."""
    options = {"DATA_DIR": data_dir, "TLS": tls or None, "TLS_PORT": tls_port}
    for name, value in options.items():
        if value is not None:
            _put(name, str(value))
    settings, faults = read()
    if port and "base_url" not in {*settings.model_fields_set, *(fault.setting for fault in faults)}:
        _put("BASE_URL", f"http://localhost:{port}")
    return load_checked()


def _put(name: str, value: str) -> None:
    """In place of any other spelling, which would be the same setting a second time."""
    for each in [each for each in os.environ if each.upper() == f"{PREFIX}{name}"]:
        del os.environ[each]
    os.environ[f"{PREFIX}{name}"] = value


def _default_port(settings: Settings, role: str) -> int:
    if role == "worker":
        return _WORKER_PORT
    return _PLAIN_PORT if settings.tls else _port_of(settings.base_url)


def _port_of(base_url: str) -> int:
    parts = urlsplit(base_url)
    return parts.port or _DEFAULT_PORT if parts.hostname in _LOCAL else _DEFAULT_PORT


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
