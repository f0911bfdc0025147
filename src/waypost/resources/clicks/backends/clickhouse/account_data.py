"""Deletes the rows of one account in all tables. The server does it in the background."""
# ruff: noqa: S608  # these statements consist of constants and of an id

import asyncio
from collections.abc import AsyncGenerator
from uuid import UUID

from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse

_TABLES = ("clicks", "click_counts", "click_dimensions", "visitor_counts")
_POLL_INTERVAL = 0.5  # seconds


async def delete_account_rows(client: ClickHouse, account_id: UUID) -> AsyncGenerator[None, None]:
    """Yield while the server deletes. Starts no second deletion while one that was begun before goes on."""
    condition = f"account_id = unhex('{account_id.hex}')"
    for table in _TABLES:
        while await client.query(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1", limit=LONG_TIMEOUT):
            if not await is_deleting(client, table, account_id.hex):
                await client.command(f"ALTER TABLE {table} DELETE WHERE {condition}")
            while await is_deleting(client, table, account_id.hex):
                yield
                await asyncio.sleep(_POLL_INTERVAL)


async def is_deleting(client: ClickHouse, table: str, text: str) -> bool:
    """Whether a deletion that contains the text is going on."""
    return bool(
        await client.query(
            f"SELECT 1 FROM system.mutations WHERE database = currentDatabase() AND table = '{table}' AND NOT is_done"
            f" AND position(command, '{text}') > 0 LIMIT 1"
        )
    )
