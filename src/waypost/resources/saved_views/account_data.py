"""Exports and deletes the saved views of one account."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any
from uuid import UUID

from waypost.accounts.members import store as memberships
from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.resource import DELETED_AT_ONCE
from waypost.resources.saved_views import store


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete in short transactions. Yields after each that deleted something."""
    deleted = DELETED_AT_ONCE
    while deleted == DELETED_AT_ONCE:
        async with context.db.write() as tx:
            deleted = await store.remove_of_account(tx, account_id, DELETED_AT_ONCE)
        if deleted:
            yield


async def read_views(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    async with context.db.read() as tx:
        emails = {each.person.id: each.person.email for each in await memberships.list_of_account(tx, account_id)}
    after, has_more = UUID(int=0), True
    while has_more:
        async with context.db.read() as tx:
            found = await store.list_after(tx, account_id, after, DELETED_AT_ONCE)
        has_more = len(found) == DELETED_AT_ONCE
        if found:
            after = found[-1].id
            yield [
                {
                    "id": str(each.id),
                    "name": each.name,
                    "email": emails.get(each.person_id) if each.person_id else None,
                    "url": each.url,
                    "created_at": timestamp(each.created_at),
                }
                for each in found
            ]
