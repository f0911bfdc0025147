"""`waypost doctor`: runs diagnostics and reports what is wrong and what to do. It changes nothing."""

import asyncio
import contextlib
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from sqlalchemy import func, select, text

from waypost import private_files, secret_key
from waypost.commands.clock_check import ClockWrong, check_clock, find_lead, read_newest_ids
from waypost.commands.database import open_clickhouse_store
from waypost.commands.key_check import check_key
from waypost.database import Database, Tx
from waypost.database.schema import SchemaUnknown, is_usable, pending
from waypost.kit import clock
from waypost.kit.clock import EPOCH, Clock
from waypost.kit.errors import SettingsError, Unavailable, WaypostError
from waypost.outbound import Unreachable
from waypost.outbound.own_url import status_of
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.imports import store as imports
from waypost.secret_key import with_existing_key
from waypost.settings import PREFIX, SettingProblem, Settings
from waypost.visitors import countries
from waypost.worker import jobs

if TYPE_CHECKING:
    from waypost.resources.clicks.clickhouse.client import ClickHouse

_MB = 1 << 20
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_MAX_SKEW = 5.0  # seconds
_MAX_CLICKHOUSE_SKEW = 2.0
_MAX_DATA_AGE = timedelta(days=366)
_MAX_DELAY = 60  # seconds


@dataclass(frozen=True)
class Finding:
    check: str
    state: Literal["ok", "warning", "failed"]
    message: str
    advice: str = ""


async def examine(
    settings: Settings, problems: Sequence[SettingProblem] = (), *, now: Clock = clock.now
) -> list[Finding]:
    """Run all checks, except those that depend on an invalid setting: they would use its default."""
    invalid = {problem.setting for problem in problems}

    def is_valid(*names: str) -> bool:
        return not invalid & {"", *names}

    findings = [*_settings(problems)]
    if is_valid("base_url", "tls", "trusted_proxies"):
        findings.append(_base_url(settings))
    if is_valid("outbound_allow"):
        findings.append(_outbound(settings))
    if is_valid("data_dir", "secret_key", "spool_limit_mb"):
        findings += _files(settings)
    if is_valid("geoip_database"):
        findings.append(_countries(settings, now))
    if settings.secret_files:
        findings.append(_secret_files(settings.secret_files))
    findings.append(_clock(settings, now))
    if is_valid("base_url"):
        findings += await _reachability(settings, is_ca_file_valid=is_valid("outbound_ca_file"))
    if is_valid("data_dir", "database_url", "click_retention_days"):
        findings += await _database(settings, now)
    if settings.clickhouse_url and is_valid("clickhouse_url", "outbound_ca_file"):
        findings += await _clickhouse(settings, now)
    return findings


async def _clickhouse(settings: Settings, now: Clock) -> list[Finding]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(open_clickhouse_store(settings))
            return [finding async for finding in _clickhouse_findings(store.client, now)]
        except WaypostError as error:
            problem, _, advice = error.details.partition(". ")
            return [Finding("ClickHouse", "failed", problem, advice)]


async def _clickhouse_findings(client: "ClickHouse", now: Clock) -> AsyncIterator[Finding]:
    from waypost.resources.clicks.clickhouse.recount import count_duplicates

    before = time.time()
    ((version, server_time),) = await client.query("SELECT version(), toUnixTimestamp64Micro(now64(6))")
    difference = max(before - server_time / 1e6, server_time / 1e6 - time.time(), 0.0)
    if difference > _MAX_CLICKHOUSE_SKEW:
        advice = "Synchronize both clocks (NTP)."
        yield Finding("ClickHouse", "warning", f"its clock differs by {difference:.0f} s", advice)
    else:
        yield Finding("ClickHouse", "ok", f"version {version}, schema and deduplication ok")
    today = (now() - EPOCH).days
    count = sum([await count_duplicates(client, day) for day in (today - 1, today)])
    if count:
        advice = "Run waypost stats check, which says what to do."
        yield Finding("duplicate clicks", "failed", f"{count} since yesterday", advice)
    else:
        yield Finding("duplicate clicks", "ok", "none since yesterday")


async def _database(settings: Settings, now: Clock) -> list[Finding]:
    findings = []
    db = Database(settings.database, readers=1)
    try:
        async for finding in _database_findings(db, settings, now):
            findings.append(finding)  # noqa: PERF401  # findings before a failure are kept
    except Unavailable as error:
        advice = "Run waypost migrate. Check WAYPOST_DATABASE_URL, and that the server runs and accepts connections."
        findings.append(Finding("database", "failed", error.details, advice))
    finally:
        await db.close()
    return findings


def _settings(problems: Sequence[SettingProblem]) -> list[Finding]:
    failed = [Finding("settings", "failed", problem.text) for problem in problems]
    return failed or [Finding("settings", "ok", "all valid")]


def _base_url(settings: Settings) -> Finding:
    base = urlsplit(settings.base_url)
    if base.scheme == "http" and settings.tls:
        advice = "Set WAYPOST_BASE_URL to an https:// URL, unless only custom domains need HTTPS."
        return Finding("base URL", "warning", f"WAYPOST_TLS obtains no certificate for {settings.base_url}", advice)
    if base.scheme == "http" and base.hostname not in _LOCAL:
        advice = "Use a TLS proxy or WAYPOST_TLS, and set WAYPOST_BASE_URL to an https:// URL."
        return Finding("base URL", "warning", f"{settings.base_url} sends API keys unencrypted", advice)
    if base.scheme == "https" and not (settings.tls or settings.trusted_proxies):
        advice = "Add the proxy that serves HTTPS to WAYPOST_TRUSTED_PROXIES, and let it send X-Forwarded-Proto."
        message = f"no trusted proxy reports that requests to {settings.base_url} use HTTPS"
        return Finding("base URL", "warning", message, advice)
    return Finding("base URL", "ok", settings.base_url)


def _outbound(settings: Settings) -> Finding:
    if settings.outbound_allow:
        networks = ", ".join(map(str, settings.outbound_allow))
        advice = "Remove WAYPOST_OUTBOUND_ALLOW unless users need links into these networks."
        return Finding("outbound", "warning", f"every user can reach destinations in {networks}", advice)
    return Finding("outbound", "ok", "public addresses only")


def _files(settings: Settings) -> Iterator[Finding]:
    directory = settings.data_dir
    if not directory.is_dir():
        yield Finding("data directory", "failed", f"{directory} is missing", "Start waypost serve once to create it.")
        return
    yield _writable(directory)
    yield _key(settings)
    yield _modes(directory)
    yield _disk(directory)
    yield _spool(directory / "spool", settings.spool_limit_mb)


def _writable(directory: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"x")
    except OSError as error:
        advice = f"Make {directory} writable for the user that runs waypost."
        return Finding("data directory", "failed", f"{directory}: {error.strerror}", advice)
    return Finding("data directory", "ok", f"{directory} is writable")


def _key(settings: Settings) -> Finding:
    path = settings.data_dir / secret_key.FILE
    if settings.secret_key:
        return _key_from_setting(settings.secret_key.get_secret_value())
    if not path.exists():
        advice = "Start waypost serve once, or restore a backup. Nodes with --role redirect need it for pixels only."
        return Finding("secret key", "failed", f"{path} is missing", advice)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        return Finding("secret key", "failed", f"{path} has mode {mode:o}: others can read it", f"chmod 600 {path}")
    return Finding("secret key", "ok", f"{path}, mode {mode:o}")


def _modes(directory: Path) -> Finding:
    """Report readable files in a private directory as a warning: they are safe until its mode changes."""
    directory = directory.resolve()
    exposed = private_files.open_to_others(directory)
    if not exposed:
        return Finding("file modes", "ok", f"private to this user in {directory}")
    mode = exposed[0].lstat().st_mode & 0o777
    message = f"{len(exposed)} files or directories are accessible to other users, such as {exposed[0]} (mode {mode:o})"
    return Finding(
        "file modes", "failed" if exposed[0] == directory else "warning", message, f"chmod -R go= {directory}"
    )


def _key_from_setting(keys: str) -> Finding:
    if any(map(secret_key.is_short, keys.split(","))):
        message = f"an old key of WAYPOST_SECRET_KEY has fewer than {secret_key.MIN_LENGTH} characters"
        return Finding("secret key", "warning", message, "Run waypost secrets rotate, then remove that key.")
    return Finding("secret key", "ok", "from WAYPOST_SECRET_KEY")


def _secret_files(files: Mapping[str, Path]) -> Finding:
    for setting, path in files.items():
        with contextlib.suppress(OSError):  # an error of the settings says so
            mode = path.stat().st_mode & 0o777
            if mode & 0o004:
                name = f"{PREFIX}{setting.upper()}_FILE"
                message = f"{name}: {path} has mode {mode:o}: all users of this machine can read it"
                return Finding("secret files", "warning", message, f"chmod o= {path}")
    return Finding("secret files", "ok", ", ".join(map(str, files.values())))


def _disk(directory: Path) -> Finding:
    free = shutil.disk_usage(directory).free // _MB
    advice = "Free some space: a full disk prevents creating links and storing clicks."
    state: Literal["ok", "warning", "failed"] = "ok" if free >= 1024 else "warning" if free >= 100 else "failed"
    return Finding("disk", state, f"{free} MB free", "" if state == "ok" else advice)


def _spool(directory: Path, limit: int) -> Finding:
    size = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # drained and deleted concurrently
            size += path.stat().st_size
    size //= _MB
    if size > limit // 2:
        advice = "Clicks are not drained: check that the worker runs, and its log."
        return Finding("spool", "failed", f"{size} MB of {limit} MB", advice)
    return Finding("spool", "ok", f"{size} MB of {limit} MB")


def _countries(settings: Settings, now: Clock) -> Finding:
    file = settings.geoip_database
    try:
        day = countries.data_date(file)
    except SettingsError as error:
        advice = "Set it to a readable country database in MaxMind format, or remove the setting."
        return Finding("countries", "failed", str(error), advice)
    message = f"{file or 'bundled database'} of {day}"
    if now().date() - day > _MAX_DATA_AGE:
        advice = "Get a newer file." if file else "Update Waypost, or run make geo."
        return Finding("countries", "warning", message, advice)
    return Finding("countries", "ok", message)


def _clock(settings: Settings, now: Clock) -> Finding:
    """Check that existing files are not in the future, as they are after the clock was set back."""
    try:
        check_clock(now())
    except ClockWrong as error:
        problem, _, advice = error.details.partition(". ")
        return Finding("clock", "failed", problem, advice)
    newest = max((path.stat().st_mtime for path in [settings.data_dir, Path(__file__)] if path.exists()), default=0.0)
    ahead = newest - time.time()
    if ahead > _MAX_SKEW:
        return Finding("clock", "failed", f"{ahead:.0f} s behind a file of this service", "Synchronize it (NTP).")
    return Finding("clock", "ok", clock.timestamp(clock.now()))


async def _reachability(settings: Settings, *, is_ca_file_valid: bool) -> list[Finding]:
    resolved = await _dns(settings)
    if resolved.state == "ok" and settings.base_url.startswith("https://") and is_ca_file_valid:
        return [resolved, await _https(settings)]
    return [resolved]


async def _dns(settings: Settings) -> Finding:
    host = urlsplit(settings.base_url).hostname or ""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        advice = "Create its DNS record, or correct WAYPOST_BASE_URL."
        return Finding("DNS", "failed", f"{host} does not resolve: {error.strerror}", advice)
    return Finding("DNS", "ok", f"{host} is {', '.join(sorted({str(address[4][0]) for address in addresses}))}")


async def _https(settings: Settings) -> Finding:
    """Ask for a page of the API without a key: 401 shows that the request arrived, and that HTTPS was recognized."""
    try:
        status = await status_of(f"{settings.base_url}/api/v1/me", ca_file=settings.outbound_ca_file)
    except Unreachable as error:
        start = "Start waypost serve --tls" if settings.tls else "Start waypost serve and its TLS proxy"
        advice = f"{start}, and open the ports 80 and 443 in the firewall. Visitors may still reach it: try a browser."
        return Finding("HTTPS", "warning", f"{settings.base_url} cannot be reached from here: {error.reason}", advice)
    if status == HTTPStatus.UNAUTHORIZED:
        return Finding("HTTPS", "ok", f"{settings.base_url} responds")
    if status == HTTPStatus.BAD_REQUEST:
        advice = "Let the proxy send X-Forwarded-Proto, and add its address to WAYPOST_TRUSTED_PROXIES."
        return Finding("HTTPS", "failed", "the API sees plain HTTP: no trusted proxy reports HTTPS", advice)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        advice = "Start waypost serve, and check that the proxy passes requests on to its host and port."
        return Finding("HTTPS", "warning", f"{settings.base_url} responds with {status}", advice)
    advice = "Check that the proxy passes requests for this host on to waypost serve, with their Host header."
    return Finding("HTTPS", "warning", f"{settings.base_url} responds with {status}, as another service would", advice)


async def _database_findings(db: Database, settings: Settings, now: Clock) -> AsyncIterator[Finding]:
    if db.dialect == "sqlite" and not db.path.exists():  # opening it would create one
        yield Finding("database", "failed", f"{db.path} is missing", "Start waypost serve once, or restore a backup.")
        return
    present, newest = await pending(db)
    try:
        is_current = await is_usable(db)
    except SchemaUnknown as error:
        yield Finding("schema", "failed", f"is {present}, should be {newest}", str(error))
        return
    if not is_current:
        backup = "waypost migrate --backup FILE" if db.dialect == "sqlite" else "pg_dump and waypost migrate"
        advice = f"Create a backup, then migrate: {backup}." if present else "Run waypost migrate."
        yield Finding("schema", "failed", f"is {present or 'empty'}, should be {newest}", advice)
        return
    if present != newest:
        advice = "Finish the rolling upgrade: install the newer version on this node, too."
        yield Finding("schema", "warning", f"is {present} of a newer version, and works with {newest}", advice)
    else:
        yield Finding("schema", "ok", newest)
    if lead := find_lead(await read_newest_ids(db), now()):
        hours = round(lead / timedelta(hours=1))
        advice = "Synchronize it (NTP). If it is right now, it was ahead before: sorted lists begin with those rows."
        yield Finding("stored times", "warning", f"the newest row is {hours} hours ahead of the clock", advice)
    yield await _key_of_secrets(db, settings)
    async with db.read() as tx:
        yield await (_sqlite(tx) if db.dialect == "sqlite" else _postgresql(tx))
        yield await _queue(tx)
        yield await _imports(tx)
        yield await _clicks(tx, settings.click_retention_days, (now() - EPOCH).days)


async def _key_of_secrets(db: Database, settings: Settings) -> Finding:
    """Without any key the check of the files has failed, unless this node only redirects."""
    try:
        if with_existing_key(settings).secret_key:
            await check_key(db, settings)
    except SettingsError as error:
        problem, _, advice = str(error).partition(". ")
        return Finding("key of secrets", "failed", problem, advice)
    return Finding("key of secrets", "ok", "no other key than this node's")


async def _sqlite(tx: Tx) -> Finding:
    verdict = (await tx.execute(text("PRAGMA quick_check(1)"))).scalar_one()
    if verdict != "ok":
        return Finding("database", "failed", f"SQLite: {verdict}", "Stop the service and restore the last backup.")
    synchronous = (await tx.execute(text("PRAGMA synchronous"))).scalar_one()
    if synchronous < 2:
        return Finding("database", "failed", "SQLite does not wait for the disk", "Report this as a bug.")
    return Finding("database", "ok", "SQLite, integrity ok")


async def _postgresql(tx: Tx) -> Finding:
    before = time.time()
    server_time = (await tx.execute(select(func.clock_timestamp()))).scalar_one().timestamp()
    difference = max(before - server_time, server_time - time.time(), 0.0)
    if difference > _MAX_SKEW:
        return Finding(
            "database", "failed", f"its clock differs by {difference:.0f} s", "Synchronize both clocks (NTP)."
        )
    version = (await tx.execute(text("SHOW server_version"))).scalar_one()
    return Finding("database", "ok", f"PostgreSQL {version}")


async def _queue(tx: Tx) -> Finding:
    backlog = await jobs.read_backlog(tx)
    late = (clock.now() - backlog.oldest).total_seconds() if backlog.oldest else 0
    if late > _MAX_DELAY:
        advice = "Check that the worker runs (waypost serve --role worker), and its log."
        return Finding("queue", "failed", f"{backlog.pending} jobs pending, the oldest is {late:.0f} s late", advice)
    if backlog.failed:
        advice = "See the column error of the table jobs for the reasons."
        return Finding("queue", "warning", f"{backlog.failed} jobs failed permanently", advice)
    return Finding("queue", "ok", f"{backlog.pending} jobs pending")


async def _imports(tx: Tx) -> Finding:
    reasons = await imports.find_stopped(tx)
    if not reasons:
        return Finding("imports", "ok", "none stopped")
    advice = "Select Continue on the page of the import, or run the same waypost import again: it continues."
    message = f"{len(reasons)} stopped and can be continued, the newest because: {reasons[0].rstrip('.')}"
    return Finding("imports", "warning", message, advice)


async def _clicks(tx: Tx, days: int | None, today: int) -> Finding:
    kept = await find_kept_since(tx)
    message = f"stored since {(EPOCH + timedelta(days=kept)).date()}" if kept else "none deleted"
    if kept > today:
        advice = f"Correct the clock. If it is correct now, set kept_since in the table click_retention to {today}."
        return Finding("clicks", "failed", f"{message}, which is in the future: new ones are deleted", advice)
    if days is not None and kept > today - days:
        advice = "Ignore this if WAYPOST_CLICK_RETENTION_DAYS was raised recently. Otherwise check the clock."
        return Finding("clicks", "warning", f"{message}, which is less than {days} days", advice)
    return Finding("clicks", "ok", message)
