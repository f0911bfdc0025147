"""Exports what an account has of domains, and deletes its domains."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any
from uuid import UUID

from sqlalchemy import Table, select

from waypost.context import Context
from waypost.kit.errors import NotFound
from waypost.kit.fields import Body
from waypost.kit.forward_query import from_text
from waypost.kit.pagination import PageRequest
from waypost.resources.domains import service, store
from waypost.resources.domains.app_links.model import domain_app_links
from waypost.resources.domains.app_links.schemas import to_json as app_links_to_json
from waypost.resources.domains.app_links.store import APP_LINKS
from waypost.resources.domains.appearance.model import domain_appearances
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain, domains
from waypost.resources.domains.options.model import domain_options
from waypost.resources.domains.options.schemas import DomainOptionsChange
from waypost.resources.domains.schemas import DomainJson, to_json


async def read_domains(context: Context, account_id: UUID) -> AsyncIterator[list[DomainJson]]:
    """Yield the domains as the API shows them."""
    yield [to_json(domain, context.cname_target) for domain in await _find_all(context, account_id)]


async def read_app_links(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the app links of one domain at a time: they can have 256 KiB."""
    query = select(domains.c.id, domains.c.hostname).where(domains.c.account_id == account_id)
    async with context.db.read() as tx:
        found = (await tx.execute(query.where(domains.c.id.in_(select(domain_app_links.c.domain_id))))).all()
    for domain_id, hostname in found:
        async with context.db.read() as tx:
            texts = await APP_LINKS.find(tx, domain_id)
        yield [{"hostname": hostname, **app_links_to_json(texts)}]


async def read_options(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the options as they were set: null is the default."""
    found = await _read_details(context, account_id, domain_options, DomainOptionsChange)
    yield [{**options, "forward_query": from_text(options["forward_query"])} for options in found]


async def read_appearances(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    yield await _read_details(context, account_id, domain_appearances, DomainAppearanceChange)


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


async def _read_details(context: Context, account_id: UUID, table: Table, change: type[Body]) -> list[dict[str, Any]]:
    """Return the hostname of each domain with a row in the table, and the fields that can be changed."""
    columns = domains.c.hostname, *(table.c[name] for name in change.model_fields)
    query = select(*columns).join(table, table.c.domain_id == domains.c.id).where(domains.c.account_id == account_id)
    async with context.db.read() as tx:
        rows = await tx.execute(query.order_by(domains.c.hostname))
    return [dict(zip((column.name for column in columns), row, strict=True)) for row in rows]
