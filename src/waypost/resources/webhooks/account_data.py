"""Deletes and exports the webhooks of one account."""

from collections.abc import AsyncGenerator, AsyncIterator
from uuid import UUID

from sqlalchemy import delete, select

from waypost.context import Context
from waypost.kit.pagination import MAX_PER_PAGE, PageRequest
from waypost.resource import DELETED_AT_ONCE
from waypost.resources.webhooks import queue, schemas, store
from waypost.resources.webhooks.model import webhook_deliveries, webhooks


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete the webhooks and their deliveries in short transactions. Yields after each."""
    async with context.db.read() as tx:
        webhook_ids = (await tx.scalars(select(webhooks.c.id).where(webhooks.c.account_id == account_id))).all()
    for webhook_id in webhook_ids:
        batch = (
            select(webhook_deliveries.c.id).where(webhook_deliveries.c.webhook_id == webhook_id).limit(DELETED_AT_ONCE)
        )
        statement = delete(webhook_deliveries).where(webhook_deliveries.c.id.in_(batch))
        has_more = True
        while has_more:
            async with context.db.write() as tx:
                await queue.lock_deliveries(tx)
                has_more = (await tx.execute(statement)).rowcount >= DELETED_AT_ONCE
                if not has_more:
                    await tx.execute(delete(webhooks).where(webhooks.c.id == webhook_id))
            yield


async def read_webhooks(context: Context, account_id: UUID) -> AsyncIterator[list[schemas.WebhookJson]]:
    """Yield the webhooks as the API shows them."""
    async with context.db.read() as tx:
        webhooks_of_account, _ = await store.list_page(tx, account_id, PageRequest(1, MAX_PER_PAGE))
    yield [schemas.to_json(webhook) for webhook in webhooks_of_account]
