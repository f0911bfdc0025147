"""Exports and deletes the webhooks of an account."""

from collections.abc import AsyncGenerator
from uuid import UUID

from sqlalchemy import delete, select

from waypost.database import Database
from waypost.kit.pagination import MAX_PER_PAGE, PageRequest
from waypost.resources.webhooks import store
from waypost.resources.webhooks.delivery import queue
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.resources.webhooks.schemas import WebhookJson, to_json


async def export(db: Database, account_id: UUID) -> list[WebhookJson]:
    """As the API shows them."""
    async with db.read() as tx:
        found, _ = await store.page(tx, account_id, PageRequest(1, MAX_PER_PAGE))
    return [to_json(each) for each in found]


async def delete_all_for(db: Database, account_id: UUID, *, at_once: int) -> AsyncGenerator[None, None]:
    """Delete them and their deliveries, in short transactions. Yields after each."""
    async with db.read() as tx:
        ids = (await tx.execute(select(webhooks.c.id).where(webhooks.c.account_id == account_id))).scalars().all()
    for webhook_id in ids:
        of_webhook = select(webhook_deliveries.c.id).where(webhook_deliveries.c.webhook_id == webhook_id)
        some = webhook_deliveries.c.id.in_(of_webhook.limit(at_once))
        is_more_left = True
        while is_more_left:
            async with db.write() as tx:
                await queue.lock(tx)
                is_more_left = (await tx.execute(delete(webhook_deliveries).where(some))).rowcount >= at_once
                if not is_more_left:
                    await tx.execute(delete(webhooks).where(webhooks.c.id == webhook_id))
            yield
