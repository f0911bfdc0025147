"""Which domain a link is on: what the links room asks and writes inside its own transactions.

A domain that is gone is the shared one wherever it is read, so a deletion need not wait for its last link.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, or_, select, update

from waypost.database import Tx
from waypost.resources.domains.model import domains


def name_of(domain_id: Column[Any]) -> ColumnElement[str | None]:
    """Of the domain in the statement around it; null for the shared one."""
    return select(domains.c.hostname).where(domains.c.id == domain_id).scalar_subquery()


def id_of(account_id: UUID, hostname: str) -> ColumnElement[UUID | None]:
    """Null, which equals nothing, when the account has no such domain."""
    return (
        select(domains.c.id).where(domains.c.hostname == hostname, domains.c.account_id == account_id).scalar_subquery()
    )


async def known(tx: Tx, account_id: UUID, hostname: str) -> UUID | None:
    """The domain's id when it is the account's."""
    return (await tx.execute(select(id_of(account_id, hostname)))).scalar_one()


async def move_link(tx: Tx, before: UUID | None, after: UUID | None) -> bool:
    """Counts a link off one domain and onto another. False when `after` is gone: then nothing may be saved.

    Until the transaction ends, neither is deleted. In the order of ids: two links that swap domains cannot wait for
    each other.
    """
    if before == after:
        return True
    for id_ in sorted(id_ for id_ in (before, after) if id_):
        step = 1 if id_ == after else -1
        counted = update(domains).where(domains.c.id == id_).values(links_count=domains.c.links_count + step)
        if (await tx.execute(counted)).rowcount == 0 and id_ == after:
            return False
    return True


async def serving(tx: Tx, account_id: UUID, hostnames: Collection[str]) -> bool:
    """Whether one of these is a domain of this service: proven, or claimed by the account itself.

    What others merely claim does not count: anybody can claim anything.
    """
    one = or_(domains.c.is_live, domains.c.account_id == account_id)
    found = select(domains.c.id).where(domains.c.hostname.in_(hostnames), one).limit(1)
    return (await tx.execute(found)).one_or_none() is not None
