"""Exports the shares of one account."""

from collections.abc import AsyncIterator
from uuid import UUID

from waypost.context import Context
from waypost.kit.pagination import PageRequest
from waypost.resources.shares import store
from waypost.resources.shares.rules import MAX_SHARES
from waypost.resources.shares.schemas import ShareJson, to_json


async def read_shares(context: Context, account_id: UUID) -> AsyncIterator[list[ShareJson]]:
    """Yield the shares as the API shows them, without their URLs: who has the file could open them."""
    async with context.db.read() as tx:
        shares, _ = await store.list_page(tx, account_id, PageRequest(1, MAX_SHARES))
    yield [to_json(share, url=None, embed_url=None) for share in shares]
