"""SQL for the API and the commands. A unique index decides which account has a hostname."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, or_, select, update

from waypost.accounts import email_subquery
from waypost.database import Tx, upsert
from waypost.kit.errors import or_not_found
from waypost.kit.pagination import PageRequest
from waypost.resources.domains.history import MAX_UNVERIFIED
from waypost.resources.domains.model import Domain, domains
from waypost.worker import jobs

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


async def find_failed(tx: Tx, account_id: UUID, limit: int) -> list[Domain]:
    """Return domains whose DNS records were checked without success."""
    query = DOMAIN.where(domains.c.account_id == account_id, domains.c.status == "failed").limit(limit)
    return [Domain(*row) for row in await tx.execute(query)]


async def get(tx: Tx, account_id: UUID, domain_id: UUID) -> Domain:
    """Raises NotFound."""
    return or_not_found(await tx.find(Domain, _select(account_id, domain_id)))


async def get_for_update(tx: Tx, account_id: UUID, domain_id: UUID) -> Domain:
    """Lock the domain, also against changes of its number of links, and return it. Raises NotFound."""
    return or_not_found(await tx.find(Domain, _select(account_id, domain_id).with_for_update()))


async def find_by_hostname_for_update(tx: Tx, hostname: str) -> Domain | None:
    """Lock and return the domain of any account."""
    return await tx.find(Domain, DOMAIN.where(domains.c.hostname == hostname).with_for_update())


async def find(tx: Tx, domain_id: UUID) -> Domain | None:
    """Return the domain of any account."""
    return await tx.find(Domain, DOMAIN.where(domains.c.id == domain_id))


async def find_for_update(tx: Tx, domain_id: UUID) -> Domain | None:
    """Lock and return the domain of any account."""
    return await tx.find(Domain, DOMAIN.where(domains.c.id == domain_id).with_for_update())


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


async def mark_notified(tx: Tx, domain_id: UUID, now: datetime) -> bool:
    """Record that the owner gets an email now. Return False if they got one within the last day."""
    is_due = or_(domains.c.notified_at.is_(None), domains.c.notified_at <= now - timedelta(days=1))
    return (
        await tx.execute(update(domains).where(domains.c.id == domain_id, is_due).values(notified_at=now))
    ).rowcount > 0


def select_expired(now: datetime) -> Select[Any]:
    """Query: the domain that was unverified for the longest time, and for too long, unless a check is in flight."""
    is_expired = domains.c.unverified_since <= now - MAX_UNVERIFIED
    query = DOMAIN.where(is_expired, ~domains.c.is_served, ~jobs.is_running(domains.c.id, now))
    return query.order_by(domains.c.unverified_since).limit(1)


async def save(tx: Tx, domain_id: UUID, values: Mapping[str, Any]) -> None:
    if values:
        await tx.execute(update(domains).where(domains.c.id == domain_id).values(**values))


async def lock_all(tx: Tx, account_id: UUID) -> None:
    """Lock the domains of the account, in the order in which their links are counted."""
    query = select(domains.c.id).where(domains.c.account_id == account_id).order_by(domains.c.id)
    await tx.execute(query.with_for_update(key_share=True))


async def clear_default(tx: Tx, account_id: UUID) -> None:
    statement = update(domains).where(domains.c.account_id == account_id, domains.c.is_default)
    await tx.execute(statement.values(is_default=False))


def _select(account_id: UUID, domain_id: UUID) -> Select[Any]:
    return DOMAIN.where(domains.c.id == domain_id, domains.c.account_id == account_id)
