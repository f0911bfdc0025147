"""Export and delete all domains of an account."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from uuid import UUID

from waypost.context import Context
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.domains import service, store
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import DomainJson, to_json


async def read_domains(context: Context, account_id: UUID) -> AsyncIterator[list[DomainJson]]:
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
