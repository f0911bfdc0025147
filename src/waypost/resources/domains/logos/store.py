"""SQL of logos."""

from uuid import UUID

from sqlalchemy import bindparam, delete, func, select

from waypost.database import Id, Tx, upsert
from waypost.resources.domains.logos.model import Logo, logos
from waypost.resources.domains.model import domains

_COLUMNS = tuple(logos.c[name] for name in Logo._fields)
_FIND = select(*_COLUMNS).where(
    logos.c.owner_id.in_((bindparam("domain_id", type_=Id), bindparam("account_id", type_=Id)))
)
_READ = select(logos.c.content).where(logos.c.name == bindparam("name"))


async def find(tx: Tx, owner_id: UUID) -> Logo | None:
    return await find_of_link(tx, owner_id, None)


async def find_of_link(tx: Tx, account_id: UUID, domain_id: UUID | None) -> Logo | None:
    """Return the logo of the domain, otherwise that of the account."""
    parameters = {"domain_id": domain_id or account_id, "account_id": account_id}
    found = {logo.owner_id: logo for logo in (Logo(*row) for row in await tx.execute(_FIND, parameters))}
    return (found.get(domain_id) if domain_id else None) or found.get(account_id)


async def read_of_link(tx: Tx, account_id: UUID, domain_id: UUID | None) -> tuple[Logo, bytes] | None:
    """Return that logo with its PNG. In one statement, because a logo may be replaced between two."""
    parameters = {"domain_id": domain_id or account_id, "account_id": account_id}
    rows = await tx.execute(_FIND.add_columns(logos.c.content), parameters)
    found = {logo[0]: (Logo(*logo), content) for *logo, content in rows}
    return (found.get(domain_id) if domain_id else None) or found.get(account_id)


async def list_of_account(tx: Tx, account_id: UUID) -> list[tuple[Logo, str | None]]:
    """Return the logos of the account and of its domains, with their hostnames."""
    query = select(*_COLUMNS, domains.c.hostname).outerjoin(domains, domains.c.id == logos.c.owner_id)
    query = query.where(logos.c.account_id == account_id).order_by(func.coalesce(domains.c.hostname, ""))
    return [(Logo(*values), hostname) for *values, hostname in await tx.execute(query)]


async def read(tx: Tx, name: str) -> bytes | None:
    """Return the PNG."""
    content: bytes | None = (await tx.execute(_READ, {"name": name})).scalar_one_or_none()
    return content


async def save(tx: Tx, account_id: UUID, logo: Logo, content: bytes) -> None:
    row = {**logo._asdict(), "account_id": account_id, "content": content}
    statement = upsert(tx, logos).values(row)
    await tx.execute(statement.on_conflict_do_update(index_elements=[logos.c.owner_id], set_=row))


async def delete_of_owner(tx: Tx, owner_id: UUID) -> None:
    await tx.execute(delete(logos).where(logos.c.owner_id == owner_id))
