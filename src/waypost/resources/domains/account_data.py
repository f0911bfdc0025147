"""Export and delete all domains of an account."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, ndjson_file
from waypost.context import Context
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.domains import service, store
from waypost.resources.domains.app_links import account_data as app_links
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import domains
from waypost.resources.domains.schemas import DomainJson, to_json


def export(context: Context, account: Account, _: datetime) -> Files:
    return {
        "domains.ndjson": ndjson_file(_domains(context, account.id)),
        "app_links.ndjson": ndjson_file(app_links.export_account_data(context.db, account.id)),
    }


async def _domains(context: Context, account_id: UUID) -> AsyncIterator[list[DomainJson]]:
    """Yield the domains as the API shows them."""
    async with context.db.read() as tx:
        listed, _ = await store.list_page(tx, account_id, PageRequest(1, 10_000))
    yield [to_json(domain, context.cname_target) for domain in listed]


async def delete_account_data(deps: Deps, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete all domains of the account. Yields after each transaction."""
    async with deps.db.read() as tx:
        ids = (await tx.execute(select(domains.c.id).where(domains.c.account_id == account_id))).scalars().all()
    for domain_id in ids:
        with suppress(NotFound):  # deleted concurrently
            async with deps.db.write() as tx:
                await service.delete_locked(deps, tx, await store.get_for_update(tx, account_id, domain_id))
        yield
