"""What other packages look up: the domain of a link, inside their own statements and transactions, and live hosts.

A link whose domain has been deleted counts as one on the shared domain wherever it is read, so a deletion need not wait
for its last link.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Select, bindparam, or_, select, update

from waypost.database import Database, Tx
from waypost.redirect import Route, new_host
from waypost.resources.domains.model import domains

_LIVE_HOST = select(domains.c.root_url, domains.c.not_found_url).where(
    domains.c.hostname == bindparam("hostname"), domains.c.is_live
)


def hostname_of(domain_id: Column[Any]) -> ColumnElement[str | None]:
    """The hostname for a column of the surrounding statement; null for the shared domain."""
    return select(domains.c.hostname).where(domains.c.id == domain_id).scalar_subquery()


def is_on_shared_domain(domain_id: Column[Any]) -> ColumnElement[bool]:
    """Whether the column of the surrounding statement names no domain, or one that has been deleted."""
    return ~select(domains.c.id).where(domains.c.id == domain_id).exists()


def join_host(statement: Select[Any], domain_id: Column[Any]) -> Select[Any]:
    """Outer-joins the domain and adds the columns `hostname` and `is_live`, both null for the shared domain."""
    joined = statement.outerjoin(domains, domains.c.id == domain_id)
    return joined.add_columns(domains.c.hostname, domains.c.is_live)


def id_of(account_id: UUID, hostname: str) -> ColumnElement[UUID | None]:
    """The id of the account's domain; null, which equals nothing, when it has none of that name."""
    return (
        select(domains.c.id).where(domains.c.hostname == hostname, domains.c.account_id == account_id).scalar_subquery()
    )


def hostnames_of(account_id: ColumnElement[UUID], most: int) -> Select[Any]:
    """The hostnames of the account's domains in alphabetical order, also of unverified ones."""
    named = select(domains.c.hostname).where(domains.c.account_id == account_id)
    return named.order_by(domains.c.hostname).limit(most)


async def find_id(tx: Tx, account_id: UUID, hostname: str) -> UUID | None:
    """The id of the account's domain."""
    return (await tx.execute(select(id_of(account_id, hostname)))).scalar_one()


async def move_link(tx: Tx, before: UUID | None, after: UUID | None) -> bool:
    """Count a link off one domain and onto another. False when `after` has been deleted: save nothing then.

    Neither can be deleted until the transaction ends. Rows are taken in the order of ids, so two links that swap
    domains cannot wait for each other.
    """
    if before == after:
        return True
    for id_ in sorted(id_ for id_ in (before, after) if id_):
        step = 1 if id_ == after else -1
        counted = update(domains).where(domains.c.id == id_).values(links_count=domains.c.links_count + step)
        if (await tx.execute(counted)).rowcount == 0 and id_ == after:
            return False
    return True


async def is_custom_domain(tx: Tx, account_id: UUID, hostname: str) -> bool:
    """Whether the host is a verified domain of any account, or one that this account has registered.

    Unverified domains of other accounts do not count: anybody can register any name.
    """
    counts = or_(domains.c.is_live, domains.c.account_id == account_id)
    found = select(domains.c.id).where(domains.c.hostname == hostname, counts).limit(1)
    return (await tx.execute(found)).one_or_none() is not None


class HostSource:
    """A `redirect.table.Source` of hosts, asked by visits to no link of a domain, which is no hot path."""

    find_sync = None

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, host: bytes) -> Route | None:
        """None for a host that is not live. Raises Unavailable."""
        async with self._db.point_read() as tx:
            row = (await tx.execute(_LIVE_HOST, {"hostname": host.decode("ascii")})).one_or_none()
        return None if row is None else new_host(host, row.root_url, row.not_found_url)
