"""SQL of the appearance of domains. The caller has locked the domain, and publishes its host after a change."""

from uuid import UUID

from sqlalchemy import bindparam, delete, select

from waypost.database import Database, Tx, upsert
from waypost.redirect import Appearance
from waypost.resources.domains.appearance.model import DomainAppearance, domain_appearances
from waypost.resources.domains.model import domains

_COLUMNS = tuple(domain_appearances.c[name] for name in DomainAppearance._fields)
_FIND_OF_HOST = (
    select(*_COLUMNS)
    .join(domains, domains.c.id == domain_appearances.c.domain_id)
    .where(domains.c.hostname == bindparam("hostname"), domains.c.is_served)
)


async def find(tx: Tx, domain_id: UUID) -> DomainAppearance:
    row = (await tx.execute(select(*_COLUMNS).where(domain_appearances.c.domain_id == domain_id))).one_or_none()
    return DomainAppearance(*row) if row else DomainAppearance()


async def save(tx: Tx, domain_id: UUID, appearance: DomainAppearance) -> None:
    row = {"domain_id": domain_id, **appearance._asdict()}
    statement = upsert(tx, domain_appearances).values(row)
    await tx.execute(statement.on_conflict_do_update(index_elements=[domain_appearances.c.domain_id], set_=row))


async def delete_of_domain(tx: Tx, domain_id: UUID) -> None:
    await tx.execute(delete(domain_appearances).where(domain_appearances.c.domain_id == domain_id))


async def find_appearance(db: Database, host: bytes) -> Appearance:
    """Return that of a served host, for redirects. Raises Unavailable."""
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND_OF_HOST, {"hostname": host.decode("ascii")})).one_or_none()
    return DomainAppearance(*(row or ())).of_pages
