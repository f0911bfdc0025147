"""Exports the app links of an account."""

from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.resources.domains.app_links.model import domain_app_links
from waypost.resources.domains.app_links.schemas import AppLinksJson, to_json
from waypost.resources.domains.app_links.store import APP_LINKS
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
            texts = await APP_LINKS.find(tx, domain_id)
        yield [{"hostname": hostname, **to_json(texts)}]
