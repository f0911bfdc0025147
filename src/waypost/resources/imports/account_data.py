"""Exports the imports of one account that have a page. What they imported belongs to the links."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.resources.imports import store

_MAX_EXPORTED = 1_000


async def read_imports(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the newest ones, without tokens and files."""
    async with context.db.read() as tx:
        newest = await store.list_newest(tx, account_id, _MAX_EXPORTED)
    yield [
        {
            "id": str(import_.id),
            "source": import_.source,
            "status": import_.state,
            "url": import_.options["url"],
            "file_name": import_.file_name,
            "domains": import_.domains,
            "created_at": timestamp(import_.created_at),
            "updated_at": timestamp(import_.updated_at),
        }
        for import_ in newest
    ]
