"""What statistics group links by: hostnames, tags and UTM parameters. SQL of the links that have some of them.

A deleted link keeps its hostname and UTM parameters, and loses its tags.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, false, func, literal, or_, select, union_all

from waypost.database import Tx, rows_with
from waypost.kit.errors import NotFound
from waypost.kit.urls import UtmKey
from waypost.resources import domains
from waypost.resources.links.model import HOSTNAME, NOT_DELETED, Link, link_tags, links


class LinkLabels(NamedTuple):
    hostname: str
    tags: Collection[str]
    utm_params: Mapping[str, str]


def labels_of(link: Link) -> tuple[Any, ...]:
    """Return what differs if a change of the link moves its clicks to others in statistics."""
    return link.domain_id, link.tags, link.utm_params


async def find_labels(tx: Tx, ids: Collection[UUID], *, shared_domain: str) -> dict[UUID, LinkLabels]:
    """Return the labels of links, deleted ones included, of any number."""
    columns = links.c.id, func.coalesce(HOSTNAME, shared_domain), links.c.tags, links.c.utm_params, NOT_DELETED
    rows = await rows_with(tx, select(*columns), links.c.id, ids)
    return {id_: LinkLabels(host, tags if exists else (), utm) for id_, host, tags, utm, exists in rows}


def is_one_of(ids: Iterable[UUID]) -> ColumnElement[bool]:
    return links.c.id.in_(list(ids))


async def are_own(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> bool:
    """Return whether the account has all of these links."""
    conditions = links.c.id.in_(ids), links.c.account_id == account_id, NOT_DELETED
    return await tx.scalar(select(func.count()).where(*conditions)) == len(set(ids))


async def require_own(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> None:
    """Raise NotFound, also if one of the links is deleted or of another account."""
    if not await are_own(tx, account_id, ids):
        raise NotFound


def with_tags(account_id: UUID, tags: Collection[str] | None) -> Select[UUID]:
    """Select links that have one of the tags. None: any tag."""
    tagged = select(link_tags.c.link_id).where(link_tags.c.account_id == account_id)
    return tagged if tags is None else tagged.where(link_tags.c.tag.in_(tags))


def on_hostnames(account_id: UUID, hostnames: Collection[str], shared_domain: str) -> Select[UUID]:
    is_shared = domains.is_on_shared_domain(links.c.domain_id) if shared_domain in hostnames else false()
    return of_account(account_id, or_(links.c.domain_id.in_(domains.select_ids(account_id, hostnames)), is_shared))


def with_utm(account_id: UUID, key: UtmKey, values: Collection[str] | None, dialect: str) -> Select[UUID]:
    """Select links with one of the values. None: any value."""
    if dialect == "postgresql":
        value: ColumnElement[Any] = links.c.utm_params.op("->>", return_type=String())(literal(key, String()))
    else:
        value = func.json_extract(links.c.utm_params, f"$.{key}")
    return of_account(account_id, value.is_not(None) if values is None else value.in_(values))


def of_account(account_id: UUID, *conditions: ColumnElement[bool]) -> Select[UUID]:
    """Select links, deleted ones included: in two parts, because there is an index of them and one of the others."""
    own = select(links.c.id).where(links.c.account_id == account_id, *conditions)
    return select(union_all(own.where(NOT_DELETED), own.where(links.c.deleted_at.is_not(None))).subquery().c.id)
