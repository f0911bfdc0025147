"""Exports the campaign templates of one account."""

from collections.abc import AsyncIterator
from uuid import UUID

from waypost.context import Context
from waypost.resources.utm_templates.schemas import UtmTemplateJson, to_json
from waypost.resources.utm_templates.service import find_all


async def read_templates(context: Context, account_id: UUID) -> AsyncIterator[list[UtmTemplateJson]]:
    async with context.db.read() as tx:
        templates = await find_all(tx, account_id)
    yield [to_json(template) for template in templates]
