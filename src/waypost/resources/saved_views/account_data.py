"""Exports the saved views of one account."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from waypost.accounts.members import store as memberships
from waypost.context import Context
from waypost.kit.clock import timestamp
from waypost.resources.saved_views import store


async def read_views(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    async with context.db.read() as tx:
        emails = {each.person.id: each.person.email for each in await memberships.list_of_account(tx, account_id)}
    async for views in store.read_all(context.db, account_id):
        yield [
            {
                "id": str(view.id),
                "name": view.name,
                "email": emails.get(view.person_id) if view.person_id else None,
                "url": view.url,
                "created_at": timestamp(view.created_at),
            }
            for view in views
        ]
