"""Exports the options of an account's domains, and imports them."""

from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import select
from typing_extensions import TypedDict

from waypost.context import Context
from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.kit.errors import NotFound
from waypost.kit.forward_query import ForwardQuery, from_text
from waypost.kit.slug_style import SlugAlphabet
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.model import domains
from waypost.resources.domains.options import store
from waypost.resources.domains.options.model import DomainOptions, domain_options


class ExportedOptionsJson(TypedDict):
    """null: the default."""

    hostname: str
    ignore_case: bool | None
    forward_query: ForwardQuery | None
    forward_path: bool | None
    slug_length: int | None
    slug_alphabet: SlugAlphabet | None


async def read_options(context: Context, account_id: UUID) -> AsyncIterator[list[ExportedOptionsJson]]:
    names = "ignore_case", "forward_query", "forward_path", "slug_length", "slug_alphabet"
    query = select(domains.c.hostname, *(domain_options.c[name] for name in names))
    query = query.join(domain_options, domain_options.c.domain_id == domains.c.id)
    async with context.db.read() as tx:
        rows = (await tx.execute(query.where(domains.c.account_id == account_id).order_by(domains.c.hostname))).all()
    yield [
        {
            "hostname": row.hostname,
            "ignore_case": row.ignore_case,
            "forward_query": from_text(row.forward_query),
            "forward_path": row.forward_path,
            "slug_length": row.slug_length,
            "slug_alphabet": row.slug_alphabet,
        }
        for row in rows
    ]


async def add(tx: Tx, account_id: UUID, domain_id: UUID, options: DomainOptions, clock: Clock) -> str | None:
    """Set the options of a domain that has none. Return its hostname, to publish, if they changed."""
    try:
        domain = await domain_store.get_for_update(tx, account_id, domain_id)
    except NotFound:  # deleted meanwhile
        return None
    if (await store.find(tx, domain_id)).updated_at is not None:
        return None
    await store.save(tx, domain_id, options._replace(updated_at=clock()))
    return domain.hostname
