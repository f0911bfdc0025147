"""Export and delete all domains of an account."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from uuid import UUID

from sqlalchemy import select

from waypost.database import Database
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.domains import service, store
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import domains
from waypost.resources.domains.schemas import DomainJson, to_json


async def export(db: Database, account_id: UUID, cname_target: str) -> list[DomainJson]:
    """As the API shows them."""
    async with db.read() as tx:
        found, _ = await store.page(tx, account_id, PageRequest(1, 10_000))
    return [to_json(each, cname_target) for each in found]


async def delete_all_for(deps: Deps, account_id: UUID) -> AsyncGenerator[None, None]:
    """Yields after each transaction."""
    async with deps.db.read() as tx:
        ids = (await tx.execute(select(domains.c.id).where(domains.c.account_id == account_id))).scalars().all()
    for domain_id in ids:
        with suppress(NotFound):  # deleted meanwhile
            async with deps.db.write() as tx:
                notify = await service.remove(deps, tx, await store.find_for_change(tx, account_id, domain_id))
            notify()
        yield
