"""SQL of pixels and of the links that they are attached to.

`links` calls some of it inside its own transactions. Every query ignores rows of deleted pixels, so that a deletion
does not have to wait for its last link.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Dialect, Select, Text, func, literal, select, union_all
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from waypost.database import Ciphertext, Tx, bulk
from waypost.kit.errors import or_not_found
from waypost.kit.pagination import PageRequest
from waypost.resources.pixels.model import Pixel, link_pixels, pixels

_PIXELS = select(*(pixels.c[name] for name in Pixel.__dataclass_fields__))


async def count(tx: Tx, account_id: UUID) -> int:
    query = select(func.count()).select_from(pixels).where(pixels.c.account_id == account_id)
    return (await tx.execute(query)).scalar_one()


async def add(tx: Tx, pixel: Pixel, secrets: Mapping[str, Ciphertext | None]) -> None:
    await tx.execute(pixels.insert(), asdict(pixel) | dict(secrets))


async def get(tx: Tx, account_id: UUID, pixel_id: UUID) -> Pixel:
    """Raises NotFound."""
    rows = await tx.execute(_PIXELS.where(*_match(account_id, pixel_id)))
    return Pixel(*or_not_found(rows.one_or_none()))


async def find_token(tx: Tx, account_id: UUID, pixel_id: UUID) -> Ciphertext | None:
    return await tx.scalar(select(pixels.c.access_token).where(*_match(account_id, pixel_id)))


async def lock(tx: Tx, account_id: UUID, pixel_id: UUID) -> Pixel:
    """Lock and return the pixel: until the transaction ends, it is not attached to links. Raises NotFound."""
    rows = await tx.execute(_PIXELS.where(*_match(account_id, pixel_id)).with_for_update())
    return Pixel(*or_not_found(rows.one_or_none()))


async def list_page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Pixel], int]:
    """Return the pixels of the page, newest first, and the total."""
    newest = _PIXELS.where(pixels.c.account_id == account_id).order_by(pixels.c.created_at.desc(), pixels.c.id.desc())
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Pixel(*row) for row in rows], await count(tx, account_id)


async def save(tx: Tx, pixel: Pixel, secrets: Mapping[str, Ciphertext | None]) -> None:
    """Store the pixel. Only secrets in `secrets` change."""
    values = {"platform": pixel.platform, "name": pixel.name, "updated_at": pixel.updated_at} | dict(secrets)
    await tx.execute(pixels.update().where(pixels.c.id == pixel.id).values(values))


async def delete(tx: Tx, pixel_id: UUID) -> None:
    await tx.execute(pixels.delete().where(pixels.c.id == pixel_id))


async def count_links_per_pixel(tx: Tx, pixel_ids: Sequence[UUID], limit: int) -> dict[UUID, int]:
    """Count the links of each pixel, up to `limit`: all links of an account can have the same pixel."""
    if not pixel_ids:
        return {}
    links = (select(link_pixels.c.link_id).where(link_pixels.c.pixel_id == id_).limit(limit) for id_ in pixel_ids)
    counts = [
        select(literal(index), func.count()).select_from(query.subquery(f"links_{index}"))
        for index, query in enumerate(links)
    ]
    return {pixel_ids[index]: count for index, count in await tx.execute(union_all(*counts))}


async def detach(tx: Tx, pixel_id: UUID, limit: int) -> bool:
    """Detach the pixel from up to `limit` links. True if more may be left."""
    batch = select(link_pixels.c.link_id).where(link_pixels.c.pixel_id == pixel_id).limit(limit)
    statement = link_pixels.delete().where(link_pixels.c.pixel_id == pixel_id, link_pixels.c.link_id.in_(batch))
    return (await tx.execute(statement)).rowcount >= limit


def pixel_ids_subquery(link_id: Column[Any]) -> ColumnElement[list[UUID]]:
    """Scalar subquery: ids of the link's pixels, in the link's order."""
    query = select(_AggregatedIds(link_pixels.c.position, link_pixels.c.pixel_id))
    query = query.join(pixels, pixels.c.id == link_pixels.c.pixel_id)
    return query.where(link_pixels.c.link_id == link_id).scalar_subquery()


def join_pixels(query: Select[Any], link_id: Column[Any]) -> Select[Any]:
    """Outer-join the link's pixels, in any order, and add position, id, platform and the encrypted platform id."""
    query = query.outerjoin(link_pixels, link_pixels.c.link_id == link_id)
    query = query.outerjoin(pixels, pixels.c.id == link_pixels.c.pixel_id)
    return query.add_columns(link_pixels.c.position, pixels.c.id, pixels.c.platform, pixels.c.pixel_id)


def names_query(account_id: ColumnElement[UUID], limit: int) -> Select[Any]:
    """Select (name, id, platform) of the account's pixels, oldest first."""
    query = select(pixels.c.name, pixels.c.id, pixels.c.platform)
    return query.where(pixels.c.account_id == account_id).order_by(pixels.c.id).limit(limit)


async def find_own_ids(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Return those of `ids` that belong to the account."""
    return set(await tx.scalars(_select_own_ids(account_id, ids)))


async def lock_own_ids(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Return those of `ids` that belong to the account, locked against changes and deletion."""
    return set(await tx.scalars(_select_own_ids(account_id, ids).with_for_update(read=True, key_share=True)))


async def attach(tx: Tx, link_id: UUID, ids: Sequence[UUID]) -> None:
    """Attach exactly these pixels, in this order. The caller has locked them."""
    await tx.execute(link_pixels.delete().where(link_pixels.c.link_id == link_id))
    rows = [{"link_id": link_id, "position": position, "pixel_id": id_} for position, id_ in enumerate(ids)]
    if rows:
        await tx.execute(link_pixels.insert(), rows)


async def attach_to_new(tx: Tx, pixels_of: Mapping[UUID, Sequence[UUID]]) -> None:
    """Attach pixels to links that have none, in few statements. `pixels_of`: ids by link."""
    rows = [(link.bytes, number, id_.bytes) for link, ids in pixels_of.items() for number, id_ in enumerate(ids)]
    await bulk.insert(tx, link_pixels, rows)


async def detach_from_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    await tx.execute(link_pixels.delete().where(link_pixels.c.link_id.in_(link_ids)))


def _match(account_id: UUID, pixel_id: UUID) -> Sequence[ColumnElement[bool]]:
    return pixels.c.id == pixel_id, pixels.c.account_id == account_id


def _select_own_ids(account_id: UUID, ids: Collection[UUID]) -> Select[Any]:
    return select(pixels.c.id).where(pixels.c.account_id == account_id, pixels.c.id.in_(ids)).order_by(pixels.c.id)


class _OrderedIds(TypeDecorator[list[UUID]]):
    """Ids by position, read from `position:id,position:id` in any order."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, _dialect: Dialect) -> list[UUID]:
        pairs = [pair.split(":") for pair in value.split(",")] if value else []
        return [UUID(id_) for _, id_ in sorted(pairs, key=lambda pair: int(pair[0]))]


class _AggregatedIds(FunctionElement[list[UUID]]):
    type = _OrderedIds()
    inherit_cache = True


@compiles(_AggregatedIds, "sqlite")
def _on_sqlite(element: _AggregatedIds, compiler: SQLCompiler, **rest: Any) -> str:
    position, id_ = (compiler.process(clause, **rest) for clause in element.clauses)
    return f"group_concat({position} || ':' || hex({id_}))"


@compiles(_AggregatedIds, "postgresql")
def _on_postgresql(element: _AggregatedIds, compiler: SQLCompiler, **rest: Any) -> str:
    position, id_ = (compiler.process(clause, **rest) for clause in element.clauses)
    return f"string_agg({position} || ':' || {id_}, ',')"
