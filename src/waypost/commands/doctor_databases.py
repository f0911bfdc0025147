"""Checks of `waypost doctor` in the databases: connections, schema, clocks, secrets, jobs, clicks."""

import contextlib
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select, text

from waypost.commands.clock_check import find_lead, read_newest_ids
from waypost.commands.database import open_clickhouse_store
from waypost.commands.key_check import check_key
from waypost.database import Database, Tx
from waypost.database.schema import SchemaUnknown, is_usable, pending
from waypost.installation import Finding
from waypost.kit import clock
from waypost.kit.clock import EPOCH, Clock
from waypost.kit.errors import SettingsError, Unavailable, WaypostError
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.imports import store as imports
from waypost.secret_key import with_existing_key
from waypost.settings import Settings
from waypost.worker import jobs

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.clickhouse.client import ClickHouse

_MAX_SKEW = 5.0  # seconds
_MAX_CLICKHOUSE_SKEW = 2.0
_MAX_DELAY = 60  # seconds


async def check_database(settings: Settings, now: Clock) -> list[Finding]:
    findings = []
    try:
        async with Database(settings.database, readers=1) as db:
            async for finding in _database_findings(db, settings, now):
                findings.append(finding)  # noqa: PERF401  # findings before a failure are kept
    except Unavailable as error:
        advice = "Run waypost migrate. Check WAYPOST_DATABASE_URL, and that the server runs and accepts connections."
        findings.append(Finding("database", "failed", error.details, advice))
    return findings


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
    now = clock.now()
    backlog = await jobs.read_backlog(tx, now)
    late = (now - backlog.oldest).total_seconds() if backlog.oldest else 0
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


async def check_clickhouse(settings: Settings, now: Clock) -> list[Finding]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(open_clickhouse_store(settings))
            return [finding async for finding in _clickhouse_findings(store.client, now)]
        except WaypostError as error:
            problem, _, advice = error.details.partition(". ")
            return [Finding("ClickHouse", "failed", problem, advice)]


async def _clickhouse_findings(client: "ClickHouse", now: Clock) -> AsyncIterator[Finding]:
    from waypost.resources.clicks.backends.clickhouse.rebuild import count_duplicates

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
