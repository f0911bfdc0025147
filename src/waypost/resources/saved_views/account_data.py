"""Exports the saved views of one account."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from waypost.accounts.members import store as memberships
from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.resources.saved_views import store

_EXPORT_BATCH = 500


async def read_views(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    async with context.db.read() as tx:
        emails = {each.person.id: each.person.email for each in await memberships.list_of_account(tx, account_id)}
    after, has_more = UUID(int=0), True
    while has_more:
        async with context.db.read() as tx:
            found = await store.list_after(tx, account_id, after, _EXPORT_BATCH)
        has_more = len(found) == _EXPORT_BATCH
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
