"""SQL of routing. Other packages use it inside their transactions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Column, Select, or_, select
from sqlalchemy import delete as delete_from

from waypost.database import Tx, bulk, rows_with, upsert
from waypost.resources.links.routing.model import LinkRouting, RuleJson, VariantJson, link_routing

_FIELDS = tuple(LinkRouting.__dataclass_fields__)
_COLUMNS = tuple(link_routing.c[name] for name in _FIELDS)
_LISTS = ("rules", "variants", "unsafe_urls")


class RouteColumns(NamedTuple):
    """What a route needs of the routing: without the rules and variants that lead to unsafe destinations."""

    rules: Sequence[RuleJson]
    variants: Sequence[VariantJson]
    fallback_url: str | None
    password_version: int | None
    """None: the link has no password."""


async def find(tx: Tx, link_id: UUID) -> LinkRouting | None:
    """Return None for a link without routing."""
    return (await find_of_links(tx, [link_id])).get(link_id)


async def find_of_links(tx: Tx, link_ids: Sequence[UUID]) -> Mapping[UUID, LinkRouting]:
    """Return the routing of each link that has some. For links of any number at a time."""
    rows = await rows_with(tx, select(*_COLUMNS), link_routing.c.link_id, link_ids)
    return {row.link_id: _from_row(row) for row in rows}


async def find_protected(tx: Tx, link_ids: Sequence[UUID]) -> set[UUID]:
    """Return which of the links have a password."""
    is_protected = link_routing.c.password_hash.is_not(None)
    return set(
        await tx.scalars(select(link_routing.c.link_id).where(link_routing.c.link_id.in_(link_ids), is_protected))
    )


async def find_routed(tx: Tx, link_ids: Sequence[UUID]) -> set[UUID]:
    """Return which of the links have rules or variants."""
    query = select(link_routing.c.link_id).where(
        or_(link_routing.c.rules.is_not(None), link_routing.c.variants.is_not(None))
    )
    return {row.link_id for row in await rows_with(tx, query, link_routing.c.link_id, link_ids)}


async def find_unchecked(tx: Tx, since: datetime, limit: int) -> list[LinkRouting]:
    """Return those whose destinations were last looked up before `since`, the oldest first."""
    query = select(*_COLUMNS).where(link_routing.c.checked_at < since).order_by(link_routing.c.checked_at).limit(limit)
    return [_from_row(row) for row in await tx.execute(query)]


async def save(tx: Tx, routing: LinkRouting) -> None:
    """Insert or replace the routing of a link that the transaction has locked, and whose route the caller publishes."""
    row = _to_row(routing)
    statement = upsert(tx, link_routing).values(row)
    await tx.execute(statement.on_conflict_do_update(index_elements=[link_routing.c.link_id], set_=row))


async def add_many(tx: Tx, routings: Iterable[LinkRouting]) -> None:
    """Insert or replace the routing of many links, for imports. The destinations have been checked.

    A link that has only a start or click limit has a row, too.
    """
    rows = [bulk.to_row(link_routing, _to_row(routing)) for routing in routings]
    replaced = ", ".join(f"{name} = excluded.{name}" for name in link_routing.c.keys() if name != "link_id")  # noqa: SIM118
    await bulk.insert(tx, link_routing, rows, on_conflict=f"ON CONFLICT (link_id) DO UPDATE SET {replaced}")


async def delete_of_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    """Start and click limit stay in the row of the link."""
    await tx.execute(delete_from(link_routing).where(link_routing.c.link_id.in_(link_ids)))


def join_routing(query: Select[Any], link_id: Column[Any]) -> Select[Any]:
    """Outer-join the routing. Add the columns that `read_route_columns` takes, and `updated_at`.

    All are null for a link without.
    """
    query = query.outerjoin(link_routing, link_routing.c.link_id == link_id)
    return query.add_columns(*(link_routing.c[name] for name in (*RouteColumns._fields, "unsafe_urls", "updated_at")))


def read_route_columns(row: Sequence[Any]) -> RouteColumns:
    """`row`: the columns of `join_routing`, of SQLAlchemy or of the driver."""
    rules, variants, fallback_url, password_version, unsafe_urls = row
    unsafe = frozenset(_load(unsafe_urls))
    return RouteColumns(
        [rule for rule in _load(rules) if rule["destination_url"] not in unsafe],
        [variant for variant in _load(variants) if variant["destination_url"] not in unsafe],
        None if fallback_url in unsafe else fallback_url,
        password_version,
    )


def _from_row(row: Any) -> LinkRouting:
    values = {name: getattr(row, name) for name in LinkRouting.__dataclass_fields__}
    return LinkRouting(**values | {name: _load(values[name]) for name in _LISTS})


def _load(text: str | None) -> Sequence[Any]:
    return json.loads(text) if text else []


def _dump(entries: Sequence[Any]) -> str | None:
    return json.dumps(list(entries), ensure_ascii=False) if entries else None


def _to_row(routing: LinkRouting) -> dict[str, Any]:
    row = {name: getattr(routing, name) for name in _FIELDS}
    return row | {name: _dump(row[name]) for name in _LISTS}
