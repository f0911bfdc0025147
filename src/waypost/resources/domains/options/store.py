"""SQL of the options of domains. The caller has locked the domain, and publishes its host after a change."""

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import delete, select

from waypost.database import Tx, upsert
from waypost.kit.slug_style import SlugStyle
from waypost.resources.domains.options.model import DomainOptions, domain_options

_COLUMNS = tuple(domain_options.c[name] for name in DomainOptions._fields)


async def find(tx: Tx, domain_id: UUID) -> DomainOptions:
    row = (await tx.execute(select(*_COLUMNS).where(domain_options.c.domain_id == domain_id))).one_or_none()
    return DomainOptions(*row) if row else DomainOptions()


async def find_slug_styles(tx: Tx, domain_ids: Collection[UUID]) -> Mapping[UUID, SlugStyle]:
    """Return the styles of generated slugs. Domains with the default may be missing."""
    query = select(domain_options.c.domain_id, *_COLUMNS).where(domain_options.c.domain_id.in_(domain_ids))
    return {id_: DomainOptions(*values).slug_style for id_, *values in await tx.execute(query)}


async def save(tx: Tx, domain_id: UUID, options: DomainOptions) -> None:
    row = {"domain_id": domain_id, **options._asdict()}
    statement = upsert(tx, domain_options).values(row)
    await tx.execute(statement.on_conflict_do_update(index_elements=[domain_options.c.domain_id], set_=row))


async def delete_of_domain(tx: Tx, domain_id: UUID) -> None:
    await tx.execute(delete(domain_options).where(domain_options.c.domain_id == domain_id))
