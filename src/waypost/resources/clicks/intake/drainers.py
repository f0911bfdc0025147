"""Makes the drainer that the settings choose."""

from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from waypost.database import Database
from waypost.resources.clicks.backends import new_clickhouse_store
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.secret_key import derived_key
from waypost.settings import Settings
from waypost.visitors import countries


def new_drainer(
    settings: Settings, db: Database, spool: Path, intake: IntakeSettings, stack: AsyncExitStack
) -> Drainer:
    if settings.clickhouse_url:
        from waypost.resources.clicks.backends.clickhouse.drain import ClickHouseDrainer  # noqa: PLC0415

        store = new_clickhouse_store(settings)
        stack.push_async_callback(store.close)
        drainer: Drainer = ClickHouseDrainer(db, store, spool, intake)
    else:
        drainer = Drainer(db, spool, intake)
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
