"""Exports the app links of an account, and imports them."""

from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import NotFound
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.app_links import store
from waypost.resources.domains.app_links.model import AppLinksTexts, domain_app_links
from waypost.resources.domains.app_links.schemas import AppLinksJson, to_json
from waypost.resources.domains.model import domains


class DomainAppLinksJson(AppLinksJson):
    hostname: str


async def read_app_links(context: Context, account_id: UUID) -> AsyncIterator[list[DomainAppLinksJson]]:
    """Yield the app links of one domain at a time: they can have 256 KiB."""
    query = select(domains.c.id, domains.c.hostname).where(domains.c.account_id == account_id)
    async with context.db.read() as tx:
        found = (await tx.execute(query.where(domains.c.id.in_(select(domain_app_links.c.domain_id))))).all()
    for domain_id, hostname in found:
        async with context.db.read() as tx:
            texts = await store.find(tx, domain_id)
        yield [{"hostname": hostname, **to_json(texts)}]


async def add(tx: Tx, account_id: UUID, domain_id: UUID, texts: AppLinksTexts) -> str | None:
    """Set the app links of a domain that has none. Return its hostname, to publish after the commit, if it changed."""
    try:
        domain = await domain_store.get_for_update(tx, account_id, domain_id)
    except NotFound:  # deleted meanwhile
        return None
    if any(await store.find(tx, domain_id)):
        return None
    await store.save(tx, domain_id, texts)
    return domain.hostname
