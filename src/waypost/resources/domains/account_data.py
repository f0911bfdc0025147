"""Export and delete all domains of an account."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, ndjson_file
from waypost.context import Context
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.domains import service, store
from waypost.resources.domains.app_links import account_data as app_links
from waypost.resources.domains.appearance import account_data as appearance
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.options import account_data as options
from waypost.resources.domains.schemas import DomainJson, to_json


def export(context: Context, account: Account, _: datetime) -> Files:
    return {
        "domains.ndjson": ndjson_file(_domains(context, account.id)),
        "app_links.ndjson": ndjson_file(app_links.export_account_data(context.db, account.id)),
        "domain_options.ndjson": ndjson_file(options.export_account_data(context.db, account.id)),
        "domain_appearances.ndjson": ndjson_file(appearance.export_account_data(context.db, account.id)),
    }


async def _domains(context: Context, account_id: UUID) -> AsyncIterator[list[DomainJson]]:
    """Yield the domains as the API shows them."""
    yield [to_json(domain, context.cname_target) for domain in await _find_all(context, account_id)]


async def delete_account_data(deps: Deps, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete all domains of the account. Yields after each transaction."""
    for domain in await _find_all(deps, account_id):
        with suppress(NotFound):  # deleted concurrently
            async with deps.db.write() as tx:
                await service.delete_locked(deps, tx, await store.get_for_update(tx, account_id, domain.id))
        yield


async def _find_all(context: Context, account_id: UUID) -> list[Domain]:
    async with context.db.read() as tx:
        return (await store.list_page(tx, account_id, PageRequest(1, 10_000)))[0]
