"""What the worker runs of clicks: the drainer, retention and statistics."""

from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from waypost.database import Database
from waypost.kit.clock import now
from waypost.resources.clicks.click_stores import new_clickhouse_store
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.intake.enrichment_process import EnrichmentProcess
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.resources.clicks.retention import Retention
from waypost.resources.clicks.stats.cache_refresher import StatsCacheRefresher
from waypost.secret_key import derived_key
from waypost.settings import Settings
from waypost.visitors import countries
from waypost.worker.loop import POLL_INTERVAL
from waypost.worker.run import WorkerParts


def worker_parts(settings: Settings, db: Database, stack: AsyncExitStack) -> WorkerParts:
    if settings.clickhouse_url:
        return _clickhouse_worker_parts(settings, db, stack)
    drainer = new_drainer(settings, db, settings.data_dir / "spool", intake_settings(settings), stack)
    retention, caches = Retention(db, settings.click_retention_days, clock=now), StatsCacheRefresher(db, clock=now)
    return WorkerParts(periodic=[(POLL_INTERVAL, drainer.step), (3600, retention.step), (3600, caches.step)])


def _clickhouse_worker_parts(settings: Settings, db: Database, stack: AsyncExitStack) -> WorkerParts:
    # imported late: few installations have a ClickHouse server
    from waypost.resources.clicks.clickhouse.retention import ClickHouseRetention  # noqa: PLC0415
    from waypost.resources.clicks.clickhouse.visitor_counts import VisitorCounter  # noqa: PLC0415

    store = new_clickhouse_store(settings)
    stack.push_async_callback(store.close)
    drainer = new_drainer(settings, db, settings.data_dir / "spool", intake_settings(settings), stack)
    visitors = VisitorCounter(db, store.client, clock=now)
    retention = ClickHouseRetention(db, store.client, settings.click_retention_days, clock=now)
    return WorkerParts(periodic=[(POLL_INTERVAL, drainer.step), (3600, visitors.step), (3600, retention.step)])


def new_drainer(
    settings: Settings, db: Database, spool: Path, intake: IntakeSettings, stack: AsyncExitStack
) -> Drainer:
    process = None
    if db.dialect == "postgresql":  # SQLite stores clicks in this process, which takes longer than preparing them
        process = EnrichmentProcess(intake, settings.geoip_database)
        stack.push_async_callback(process.close)
    if settings.clickhouse_url:
        from waypost.resources.clicks.clickhouse.drain import ClickHouseDrainer  # noqa: PLC0415

        store = new_clickhouse_store(settings)
        stack.push_async_callback(store.close)
        drainer: Drainer = ClickHouseDrainer(db, store, spool, intake, process=process)
    else:
        drainer = Drainer(db, spool, intake, process=process)
    stack.push_async_callback(drainer.close)
    return drainer


def intake_settings(settings: Settings) -> IntakeSettings:
    return IntakeSettings(
        settings.trusted_proxies,
        settings.ip_privacy,
        countries.open_countries(settings.geoip_database).of,
        derived_key(settings, "visitors"),
        settings.shared_domain,
        urlsplit(settings.base_url).scheme,
    )
