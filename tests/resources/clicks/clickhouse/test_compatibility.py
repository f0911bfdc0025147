"""Rolling upgrades: which schemas of newer versions this one works on."""

from typing import Any

import pytest

from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.resources.clicks.backends.clickhouse.schema import ClickHouseUnusable, check, migrate, newest


async def test_a_newer_schema_is_used_if_it_only_added(clickhouse: Any) -> None:
    client = ClickHouse(clickhouse.url)
    try:
        await migrate(client)
        clickhouse.sql(f"INSERT INTO schema_version (version, compatible_since) VALUES (9998, {newest()})")
        await check(client)
        assert await migrate(client) == (9998, 9998)
        clickhouse.sql("INSERT INTO schema_version (version, compatible_since) VALUES (9999, 9999)")
        for use in (check, migrate):
            with pytest.raises(ClickHouseUnusable, match="9999 of a newer version of Waypost: run that version"):
                await use(client)
    finally:
        await client.close()
