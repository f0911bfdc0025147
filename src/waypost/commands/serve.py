"""`waypost serve`: prepares settings, secret key and schema, then becomes the parent process."""

import asyncio
import contextlib
import os
import signal
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from waypost import metrics
from waypost.commands.clock_check import NEWEST_IDS, check_clock, find_lead
from waypost.commands.settings_check import load_settings
from waypost.kit.clock import now
from waypost.kit.errors import Invalid, Problems
from waypost.kit.proxies import is_loopback
from waypost.private_files import make_directory
from waypost.secret_key import fingerprints, make_data_dir, with_existing_key
from waypost.settings import PREFIX, Settings, read, running_file, running_text
from waypost.worker.parent import all_addresses, log, parent_command

APP = "waypost.app"
_MIGRATIONS = Path(__file__).parents[1] / "database" / "migrations" / "versions"
_DEFAULT_PORT = 8000
_PLAIN_PORT = 80
"""With TLS: certificate authorities validate host names on this port."""
_MAX_WORKERS = 256
_WORKER_PORT = 8001
"""Differs from the web port: a worker often runs on the same machine."""
_WITH_DASHBOARD = {"all", "web"}


def start(
    *,
    host: str | None,
    port: int | None,
    workers: int | None,
    role: str,
    data_dir: Path | None,
    tls: bool = False,
    tls_port: int | None = None,
) -> int:
    """Start the service. Never returns: this process becomes the parent."""
    if os.getpid() == 1:  # in a container: the kernel would drop the signal. It waits for the parent's handler
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _check_options(host, port, workers, role, tls_port)
    settings = _settings(port, data_dir, role, tls=tls, tls_port=tls_port)
    http_port = port or _default_port(settings, role)
    https_port = settings.tls_port if settings.tls and role != "worker" else 0
    if tls_port and not settings.tls:
        raise Invalid({"--tls-port": ["This has no effect without --tls."]})
    if https_port == http_port:
        raise Invalid({"--tls-port": [f"HTTP uses port {http_port}: choose another port for one of the two."]})
    check_clock(now())
    make_data_dir(settings.data_dir)
    is_prepared = _is_known_current(settings) and _has_known_key(settings) and _has_owner(settings)
    if not is_prepared:  # imports are late: usually nothing is left to do
        asyncio.run(prepare(settings, role))
    for name in ("OWNER_EMAIL", "OWNER_PASSWORD", "OWNER_PASSWORD_FILE"):  # the owner exists: no process needs them
        _put(name, "")
    _warn_if_clock_is_behind(settings)
    file = running_file(settings.data_dir)
    make_directory(file.parent)
    metrics.reset_counters(settings.data_dir)
    _forget_click_counts(settings)
    command = parent_command(
        _default_host(settings, role) if host is None else host,
        http_port,
        tls_port=https_port,
        workers=workers or 1,
        role=role,
        app=APP,
        welcome=role in _WITH_DASHBOARD,
        running=(str(file), running_text(settings)) if role in _WITH_DASHBOARD else (),
    )
    return os.execv(command[0], command)  # noqa: S606  # our own interpreter; frees what was imported here


def _forget_click_counts(settings: Settings) -> None:
    """Have the clicks of links with a limit counted again: a backup may have been restored."""
    with contextlib.suppress(FileNotFoundError):
        os.truncate(settings.data_dir / "run" / "click_counts", 0)


def _check_options(host: str | None, port: int | None, workers: int | None, role: str, tls_port: int | None) -> None:
    """Raise Invalid, also for options without effect."""
    problems = Problems()
    if host == "":
        problems.add("--host", "This must not be empty; 0.0.0.0 means all addresses.")
    for option, number in (("--port", port), ("--tls-port", tls_port)):
        if number is not None and not 0 < number < 65_536:
            problems.add(option, "This must be between 1 and 65535.")
    if workers is not None and not 0 < workers <= _MAX_WORKERS:
        problems.add("--workers", f"This must be between 1 and {_MAX_WORKERS}.")
    if role == "worker":
        if workers is not None:
            problems.add("--workers", "This has no effect with --role worker, which is one process.")
        if tls_port is not None:
            problems.add("--tls-port", "This has no effect with --role worker, which does not serve HTTPS.")
    problems.raise_if_any()


def _settings(port: int | None, data_dir: Path | None, role: str, *, tls: bool, tls_port: int | None) -> Settings:
    """Put options into the environment of the processes to start. Raise SettingsError."""
    options = {"DATA_DIR": data_dir, "TLS": tls or None, "TLS_PORT": tls_port}
    for name, value in options.items():
        if value is not None:
            _put(name, str(value))
    settings, problems = read()
    if "base_url" not in {*settings.model_fields_set, *(problem.setting for problem in problems)} and role != "worker":
        _put("BASE_URL", f"http://localhost:{port or _default_port(settings, role)}")
    settings = load_settings()
    if role == "worker":  # the URLs of the web processes in this data directory, if they run
        _put("BASE_URL", settings.base_url)
        _put("SHARED_DOMAIN", settings.shared_domain)
    return settings


def _put(name: str, value: str) -> None:
    """Set an environment variable and delete other spellings of it, which would set the same setting twice."""
    for spelling in [key for key in os.environ if key.upper() == f"{PREFIX}{name}"]:
        del os.environ[spelling]
    os.environ[f"{PREFIX}{name}"] = value


def _default_host(settings: Settings, role: str) -> str:
    """With TLS the service needs no proxy: certificate authorities and visitors connect to it."""
    return all_addresses() if settings.tls and role != "worker" else "127.0.0.1"


def _default_port(settings: Settings, role: str) -> int:
    if role == "worker":
        return _WORKER_PORT
    return _PLAIN_PORT if settings.tls else _port_of(settings.base_url)


def _port_of(base_url: str) -> int:
    parts = urlsplit(base_url)
    return parts.port or _DEFAULT_PORT if is_loopback(parts.hostname or "") else _DEFAULT_PORT


async def prepare(settings: Settings, role: str) -> None:
    """Migrate or check the schema, create or check the secret key, and create the owner or the placeholder for it."""
    from waypost.accounts.auth_deps import new_deps
    from waypost.accounts.setup import service as setup
    from waypost.commands.database import check_click_store, migrate_database, open_database
    from waypost.commands.key_check import prepare_key

    if role != "redirect":
        await check_click_store(settings, may_be_away=True)

    if settings.database.startswith("sqlite") and role == "all" and not _is_known_current(settings):
        before, after = await migrate_database(settings)
        if before and before != after:
            log("info", "schema migrated", before=before, after=after)
    async with open_database(settings) as db:
        await prepare_key(db, settings, role)
        if role in _WITH_DASHBOARD:
            password = settings.owner_password.get_secret_value() if settings.owner_password else ""
            deps = new_deps(with_existing_key(settings), db, now)
            await setup.start(deps, email=settings.owner_email, password=password)


def _warn_if_clock_is_behind(settings: Settings) -> None:
    """Only on SQLite, whose clock is this machine's; `waypost doctor` also compares with PostgreSQL."""
    ids = [UUID(bytes=id_) for query in NEWEST_IDS for id_ in _select(settings, query)]
    if lead := find_lead(ids, now()):
        log("warning", "clock is behind the newest stored row", hours=round(lead / timedelta(hours=1)))


def _is_known_current(settings: Settings) -> bool:
    """Whether SQLite's revision is that of the newest migration; False also if that is unknown."""
    newest = max(path.name.partition("_")[0] for path in _MIGRATIONS.glob("[0-9]*.py"))
    return _select(settings, "SELECT version_num FROM alembic_version") == [newest]


def _has_owner(settings: Settings) -> bool:
    """Whether nothing of a first start is left to do on SQLite; False also if that is unknown."""
    signs_in = "WHERE password_hash IS NOT NULL" if settings.owner_email else ""
    return bool(_select(settings, f"SELECT id FROM people {signs_in} LIMIT 1"))  # noqa: S608


def _has_known_key(settings: Settings) -> bool:
    """Whether the secret key is that of SQLite's secrets; False also if that is unknown."""
    stored = _select(settings, "SELECT fingerprint FROM secret_key_fingerprint")
    return any(fingerprint in stored for fingerprint in fingerprints(with_existing_key(settings)))


def _select(settings: Settings, query: str) -> list[Any]:
    """Return the values of SQLite's rows, without imports that take long. Empty if they cannot be read."""
    path = Path(settings.database.removeprefix("sqlite:///")).absolute()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return [value for (value,) in connection.execute(query)]
    except sqlite3.Error:
        return []
