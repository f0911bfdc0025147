"""Chooses the click store by the settings."""

import importlib.util
from typing import TYPE_CHECKING

from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.store import ClickStore
from waypost.settings import Settings, SettingsError

if TYPE_CHECKING:
    from waypost.resources.clicks.backends.clickhouse import ClickHouseStore


def new_click_store(settings: Settings) -> ClickStore:
    return new_clickhouse_store(settings) if settings.clickhouse_url else SqlClickStore()


def new_clickhouse_store(settings: Settings) -> "ClickHouseStore":
    # the driver is an extra
    from waypost.resources.clicks.backends.clickhouse import ClickHouseStore  # noqa: PLC0415
    from waypost.resources.clicks.backends.clickhouse.client import ClickHouse  # noqa: PLC0415

    return ClickHouseStore(ClickHouse(settings.clickhouse_url, ca_file=settings.outbound_ca_file))


def check_clickhouse_settings(settings: Settings) -> None:
    """Raise SettingsError. Does not connect."""
    if not settings.database_url.startswith("postgres"):
        raise SettingsError(
            "WAYPOST_CLICKHOUSE_URL: needs PostgreSQL beside it, which keeps accounts and links: set"
            " WAYPOST_DATABASE_URL to a postgresql:// URL"
        )
    if importlib.util.find_spec("clickhouse_connect") is None:
        raise SettingsError(
            "WAYPOST_CLICKHOUSE_URL: the driver is missing. Install it with: pip install waypost[clickhouse]"
        )
    from waypost.resources.clicks.backends.clickhouse.client import parse_url  # noqa: PLC0415

    parse_url(settings.clickhouse_url)
