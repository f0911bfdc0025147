"""The campaign templates of one account: exported and deleted."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from uuid import UUID

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, ndjson_file
from waypost.context import Context
from waypost.database import Database
from waypost.resources.utm_templates import store
from waypost.resources.utm_templates.schemas import UtmTemplateJson, to_json
from waypost.resources.utm_templates.service import find_all


def export(context: Context, account: Account, _: datetime) -> Files:
    return {"utm_templates.ndjson": ndjson_file(_templates(context.db, account.id))}


async def _templates(db: Database, account_id: UUID) -> AsyncIterator[list[UtmTemplateJson]]:
    async with db.read() as tx:
        templates = await find_all(tx, account_id)
    yield [to_json(template) for template in templates]


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete the templates in one transaction: they are few."""
    async with context.db.write() as tx:
        deleted = await store.delete_all(tx, account_id)
    if deleted:  # a job that is stopped after a step without effect would repeat that step forever
        yield
