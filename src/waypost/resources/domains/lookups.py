"""Lookups for other packages: the domain of a link, inside their own statements and transactions, and served hosts.

A link whose domain was deleted is read as a link on the shared domain, so a deletion does not wait for its links.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Select, bindparam, case, func, or_, select, update

from waypost.accounts import suspension
from waypost.database import Database, Tx
from waypost.redirect import HostRoute, new_host
from waypost.resources.domains.app_links.model import domain_app_links
from waypost.resources.domains.appearance.model import domain_appearances
from waypost.resources.domains.logos.model import logos
from waypost.resources.domains.model import domains
from waypost.resources.domains.options.model import IGNORE_CASE, domain_options

HasAliases = Callable[[Column[Any]], ColumnElement[bool]]
"""Return an SQL condition: links have aliases on the domain with this id."""


def hostname_subquery(domain_id: Column[Any]) -> ColumnElement[str | None]:
    """Scalar subquery: the hostname of the domain; null for the shared domain."""
    return select(domains.c.hostname).where(domains.c.id == domain_id).scalar_subquery()


def is_on_shared_domain(domain_id: Column[Any]) -> ColumnElement[bool]:
    """SQL condition: the link has no domain, or a deleted one."""
    return ~select(domains.c.id).where(domains.c.id == domain_id).exists()


def join_host(
    statement: Select[Any], domain_id: Column[Any], forward_query: Column[Any], forward_path: Column[Any]
) -> Select[Any]:
    """Outer-join the domain, and add the columns `hostname` and `is_served`, both null for the shared domain.

    And the columns of what a link forwards, or of what its domain says where it does not.
    """
    joined = statement.outerjoin(domains, domains.c.id == domain_id)
    forwarded = (_or_of_domain(column, domain_id) for column in (forward_query, forward_path))
    return joined.add_columns(domains.c.hostname, domains.c.is_served, *forwarded)


def _or_of_domain(column: Column[Any], domain_id: Column[Any]) -> ColumnElement[Any]:
    """SQL expression: the column, or the one of this name of the domain's options. For the shared domain no look-up."""
    of_domain = select(domain_options.c[column.name]).where(domain_options.c.domain_id == domain_id).scalar_subquery()
    return func.coalesce(column, case((domain_id.is_not(None), of_domain))).label(column.name)


def id_subquery(account_id: UUID, hostname: str) -> ColumnElement[UUID | None]:
    """Scalar subquery: the id of the account's domain with this hostname, or null."""
    return (
        select(domains.c.id).where(domains.c.hostname == hostname, domains.c.account_id == account_id).scalar_subquery()
    )


def select_ids(account_id: UUID, hostnames: Collection[str]) -> Select[UUID]:
    return select(domains.c.id).where(domains.c.account_id == account_id, domains.c.hostname.in_(hostnames))


def served_id_subquery(hostname: ColumnElement[str]) -> ColumnElement[UUID | None]:
    """Scalar subquery: the id of the served domain of any account, or null."""
    return select(domains.c.id).where(domains.c.hostname == hostname, domains.c.is_served).scalar_subquery()


def hostnames_subquery(account_id: ColumnElement[UUID], limit: int) -> Select[Any]:
    """Subquery: `hostname` and `is_served` of the account's domains, in alphabetical order."""
    query = select(domains.c.hostname, domains.c.is_served).where(domains.c.account_id == account_id)
    return query.order_by(domains.c.hostname).limit(limit)


async def find_default(tx: Tx, account_id: UUID) -> str | None:
    """Return the hostname that new links start on in the dashboard. None: the shared domain."""
    query = select(domains.c.hostname).where(domains.c.account_id == account_id, domains.c.is_default)
    return await tx.scalar(query.where(domains.c.is_served))


async def find_hostnames(tx: Tx, account_id: UUID, *, limit: int) -> list[str]:
    """Return hostnames of the account's served domains."""
    query = select(domains.c.hostname).where(domains.c.account_id == account_id, domains.c.is_served)
    return list(await tx.scalars(query.limit(limit)))


async def find_unserved(tx: Tx, ids: Iterable[UUID | None]) -> set[UUID]:
    """Return those of the domains whose links do not work. None is the shared domain."""
    custom = {id_ for id_ in ids if id_}
    query = select(domains.c.id).where(domains.c.id.in_(custom), ~domains.c.is_served)
    return set(await tx.scalars(query)) if custom else set()


async def find_state(tx: Tx, account_id: UUID, domain_id: UUID | None) -> tuple[bool, bool]:
    """Return whether links on the domain work, and whether the account has domains. None is the shared domain."""
    if domain_id:
        return not await find_unserved(tx, [domain_id]), True
    return True, bool(await tx.scalar(select(domains.c.id).where(domains.c.account_id == account_id).limit(1)))


async def lock_id(tx: Tx, account_id: UUID, hostname: str) -> UUID | None:
    """Return the id of the account's domain, which is not deleted until the transaction ends. None: there is none."""
    query = select(domains.c.id).where(domains.c.hostname == hostname, domains.c.account_id == account_id)
    return (await tx.execute(query.with_for_update(read=True, key_share=True))).scalar_one_or_none()


async def find_id(tx: Tx, account_id: UUID, hostname: str) -> UUID | None:
    return (await tx.execute(select(id_subquery(account_id, hostname)))).scalar_one()


async def change_links_counts(tx: Tx, moves: Iterable[tuple[UUID | None, UUID | None]]) -> bool:
    """Move links from one counter to another. Return False if a domain that gets links was deleted.

    Locks the domains until the transaction ends, in the order of ids, so that two calls cannot wait for each other.
    """
    steps = Counter[UUID]()
    for before, after in moves:
        if before != after:
            steps.update({id_: step for id_, step in ((before, -1), (after, 1)) if id_})
    is_complete = True
    for id_, step in sorted(steps.items()):
        statement = update(domains).where(domains.c.id == id_).values(links_count=domains.c.links_count + step)
        if (await tx.execute(statement)).rowcount == 0 and step > 0:
            is_complete = False
    return is_complete


async def find_by_hostname(tx: Tx, account_id: UUID, hostnames: Collection[str]) -> dict[str, tuple[UUID, bool]]:
    """Return (id, whether its links work) of those hostnames that are domains of the account."""
    query = select(domains.c.hostname, domains.c.id, domains.c.is_served).where(domains.c.account_id == account_id)
    rows = await tx.execute(query.where(domains.c.hostname.in_(hostnames)))
    return {row.hostname: (row.id, row.is_served) for row in rows}


async def find_custom_domains(tx: Tx, account_id: UUID, hostnames: Collection[str]) -> set[str]:
    """Return those hostnames for which `is_custom_domain` is true. For about a page of names."""
    condition = or_(domains.c.is_served, domains.c.account_id == account_id)
    return set(await tx.scalars(select(domains.c.hostname).where(domains.c.hostname.in_(hostnames), condition)))


async def is_custom_domain(tx: Tx, account_id: UUID, hostname: str) -> bool:
    """Whether the host is a verified domain of any account, or a registered one of this account.

    Unverified domains of other accounts do not count, because any account can register any name.
    """
    condition = or_(domains.c.is_served, domains.c.account_id == account_id)
    query = select(domains.c.id).where(domains.c.hostname == hostname, condition).limit(1)
    return (await tx.execute(query)).one_or_none() is not None


class HostSource:
    """Finds the route of a custom domain, for visits that match no link."""

    find_sync = None

    def __init__(self, db: Database, has_aliases: HasAliases) -> None:
        self._db = db
        columns = domains.c.root_url, domains.c.not_found_url, has_aliases(domains.c.id).label("has_aliases")
        is_suspended = suspension.is_suspended(domains.c.account_id).label("is_suspended")
        self._query = (
            select(*columns, is_suspended, domain_app_links.c.version, domain_options.c.ignore_case)
            .add_columns(func.coalesce(domain_appearances.c.domain_id, logos.c.owner_id).label("appearance"))
            .outerjoin(domain_app_links, domain_app_links.c.domain_id == domains.c.id)
            .outerjoin(domain_options, domain_options.c.domain_id == domains.c.id)
            .outerjoin(domain_appearances, domain_appearances.c.domain_id == domains.c.id)
            .outerjoin(logos, logos.c.owner_id == domains.c.id)
            .where(domains.c.hostname == bindparam("hostname"), domains.c.is_served)
        )

    async def find(self, host: bytes) -> HostRoute | None:
        """Return the route of a served host, or None. Raises Unavailable."""
        async with self._db.point_read() as tx:
            row = (await tx.execute(self._query, {"hostname": host.decode("ascii")})).one_or_none()
        if row is None:
            return None
        ignores_case = IGNORE_CASE if row.ignore_case is None else row.ignore_case
        flags = {"has_aliases": bool(row.has_aliases), "ignores_case": ignores_case}
        if row.is_suspended:
            return new_host(None, None, **flags)
        own = {"has_app_links": row.version is not None, "has_appearance": row.appearance is not None}
        return new_host(row.root_url, row.not_found_url, **flags, **own)
