"""The shares of one account: exported and deleted."""

from collections.abc import AsyncGenerator, AsyncIterator
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


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete the shares in one transaction: they are few."""
    async with context.db.write() as tx:
        deleted = await store.delete_all(tx, account_id)
    if deleted:  # a job that is stopped after a step without effect would repeat that step forever
        yield
