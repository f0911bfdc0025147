"""The campaign templates of one account: exported and deleted."""

from collections.abc import AsyncGenerator, AsyncIterator
from uuid import UUID

from waypost.context import Context
from waypost.resources.utm_templates import store
from waypost.resources.utm_templates.schemas import UtmTemplateJson, to_json
from waypost.resources.utm_templates.service import find_all


async def read_templates(context: Context, account_id: UUID) -> AsyncIterator[list[UtmTemplateJson]]:
    async with context.db.read() as tx:
        templates = await find_all(tx, account_id)
    yield [to_json(template) for template in templates]


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete the templates in one transaction: they are few."""
    async with context.db.write() as tx:
        deleted = await store.delete_all(tx, account_id)
    if deleted:  # a job that is stopped after a step without effect would repeat that step forever
        yield
