"""SQL for the API and the commands. A unique index decides which account has a hostname."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy import Result, Select, delete, func, select, update

from waypost.accounts import email_subquery
from waypost.database import Tx, upsert
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.domains.model import Domain, domains

DOMAIN = select(*(domains.c[name] for name in Domain.__dataclass_fields__))


async def add(tx: Tx, domain: Domain) -> bool:
    """Insert the domain. Return False if the hostname is taken. A concurrent insert waits for this transaction."""
    statement = upsert(tx, domains).values(asdict(domain)).on_conflict_do_nothing(index_elements=[domains.c.hostname])
    return (await tx.execute(statement.returning(domains.c.id))).one_or_none() is not None


async def count(tx: Tx, account_id: UUID) -> tuple[int, int]:
    """Return (domains of the account, those of them that are not served)."""
    query = select(func.count(), func.count().filter(~domains.c.is_served)).where(domains.c.account_id == account_id)
    total, unserved = (await tx.execute(query)).one()
    return total, unserved


async def get(tx: Tx, account_id: UUID, domain_id: UUID) -> Domain:
    return _domain(await tx.execute(_select(account_id, domain_id)))


async def get_for_update(tx: Tx, account_id: UUID, domain_id: UUID) -> Domain:
    """Lock the domain, also against changes of its number of links, and return it. Raises NotFound."""
    return _domain(await tx.execute(_select(account_id, domain_id).with_for_update()))


async def find_by_hostname_for_update(tx: Tx, hostname: str) -> Domain | None:
    """Lock and return the domain of any account."""
    row = (await tx.execute(DOMAIN.where(domains.c.hostname == hostname).with_for_update())).one_or_none()
    return None if row is None else Domain(*row)


async def is_registered(tx: Tx, hostname: str) -> bool:
    return (await tx.execute(select(domains.c.id).where(domains.c.hostname == hostname))).first() is not None


async def list_page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Domain], int]:
    """Return (domains of the page, number of domains on all pages), newest first."""
    query = DOMAIN.where(domains.c.account_id == account_id)
    query = query.order_by(domains.c.created_at.desc(), domains.c.id.desc())
    rows = await tx.execute(query.limit(request.per_page).offset(request.offset))
    return [Domain(*row) for row in rows], (await count(tx, account_id))[0]


async def list_all(tx: Tx) -> list[tuple[str, Domain]]:
    """Return (the owner's email address, the domain), by hostname."""
    query = DOMAIN.add_columns(email_subquery(domains.c.account_id).label("email"))
    rows = await tx.execute(query.order_by(domains.c.hostname))
    return [(row[-1], Domain(*row[:-1])) for row in rows]


async def save(tx: Tx, domain_id: UUID, values: Mapping[str, Any]) -> None:
    await tx.execute(update(domains).where(domains.c.id == domain_id).values(**values))


async def delete_row(tx: Tx, domain_id: UUID) -> None:
    await tx.execute(delete(domains).where(domains.c.id == domain_id))


def _select(account_id: UUID, domain_id: UUID) -> Select[Any]:
    return DOMAIN.where(domains.c.id == domain_id, domains.c.account_id == account_id)


def _domain(result: Result[Any]) -> Domain:
    row: Sequence[Any] | None = result.one_or_none()
    if row is None:
        raise NotFound
    return Domain(*row)
