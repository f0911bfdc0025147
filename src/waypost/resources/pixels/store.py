"""SQL of pixels and of the links that they are attached to.

`links` calls what concerns a link inside its own transactions. Rows of a deleted pixel are ignored wherever they are
read, so that a deletion need not wait for its last link.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, CursorResult, Dialect, Select, Text, func, literal, select, union_all
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from waypost.database import Ciphertext, Tx
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest
from waypost.resources.pixels.model import Pixel, link_pixels, pixels

_PIXEL = select(*(pixels.c[name] for name in Pixel.__dataclass_fields__))


async def count(tx: Tx, account_id: UUID) -> int:
    counted = select(func.count()).select_from(pixels).where(pixels.c.account_id == account_id)
    return (await tx.execute(counted)).scalar_one()


async def add(tx: Tx, pixel: Pixel, secrets: Mapping[str, Ciphertext | None]) -> None:
    await tx.execute(pixels.insert(), asdict(pixel) | dict(secrets))


async def find(tx: Tx, account_id: UUID, pixel_id: UUID) -> Pixel:
    """Raises NotFound."""
    return _pixel(await tx.execute(_PIXEL.where(*_is(account_id, pixel_id))))


async def find_for_change(tx: Tx, account_id: UUID, pixel_id: UUID) -> Pixel:
    """Waits for transactions that attach it, and no other attaches it until this transaction ends. Raises NotFound."""
    return _pixel(await tx.execute(_PIXEL.where(*_is(account_id, pixel_id)).with_for_update()))


async def page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Pixel], int]:
    """(pixels of the page, total), newest first."""
    newest = _PIXEL.where(pixels.c.account_id == account_id).order_by(pixels.c.created_at.desc(), pixels.c.id.desc())
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Pixel(*row) for row in rows], await count(tx, account_id)


async def save(tx: Tx, pixel: Pixel, secrets: Mapping[str, Ciphertext | None]) -> None:
    """Secrets that are not given do not change."""
    values = {"platform": pixel.platform, "name": pixel.name, "updated_at": pixel.updated_at} | dict(secrets)
    await tx.execute(pixels.update().where(pixels.c.id == pixel.id).values(values))


async def remove_all(tx: Tx, account_id: UUID) -> None:
    await tx.execute(pixels.delete().where(pixels.c.account_id == account_id))


async def remove(tx: Tx, pixel_id: UUID) -> None:
    await tx.execute(pixels.delete().where(pixels.c.id == pixel_id))


async def links_counts(tx: Tx, pixel_ids: Sequence[UUID], at_most: int) -> dict[UUID, int]:
    """The number of links that each is attached to, counted up to `at_most`: it can be on all of the account."""
    if not pixel_ids:
        return {}
    some = (select(link_pixels.c.link_id).where(link_pixels.c.pixel_id == id_).limit(at_most) for id_ in pixel_ids)
    counted = [
        select(literal(place), func.count()).select_from(each.subquery(f"of_{place}"))
        for place, each in enumerate(some)
    ]
    return {pixel_ids[place]: count for place, count in await tx.execute(union_all(*counted))}


async def detach(tx: Tx, pixel_id: UUID, at_most: int) -> bool:
    """Detach it from `at_most` links. Whether more may be left."""
    some = select(link_pixels.c.link_id).where(link_pixels.c.pixel_id == pixel_id).limit(at_most)
    detached = link_pixels.delete().where(link_pixels.c.pixel_id == pixel_id, link_pixels.c.link_id.in_(some))
    return (await tx.execute(detached)).rowcount >= at_most


def ids_of(link_id: Column[Any]) -> ColumnElement[list[UUID]]:
    """Scalar subquery: the pixels of the link of the surrounding statement, in the link's order."""
    listed = select(_Listed(link_pixels.c.position, link_pixels.c.pixel_id))
    attached = listed.join(pixels, pixels.c.id == link_pixels.c.pixel_id)
    return attached.where(link_pixels.c.link_id == link_id).scalar_subquery()


def join_pixels(statement: Select[Any], link_id: Column[Any]) -> Select[Any]:
    """Outer-joins the link's pixels, in any order, and adds position, id, platform and the encrypted platform id."""
    joined = statement.outerjoin(link_pixels, link_pixels.c.link_id == link_id)
    joined = joined.outerjoin(pixels, pixels.c.id == link_pixels.c.pixel_id)
    return joined.add_columns(link_pixels.c.position, pixels.c.id, pixels.c.platform, pixels.c.pixel_id)


def names_of(account_id: ColumnElement[UUID], most: int) -> Select[Any]:
    """(name, id, platform) of the account's pixels, the oldest first."""
    named = select(pixels.c.name, pixels.c.id, pixels.c.platform)
    return named.where(pixels.c.account_id == account_id).order_by(pixels.c.id).limit(most)


async def known(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Which of these are the account's."""
    return set((await tx.execute(_of_account(account_id, ids))).scalars())


async def hold(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Which of these are the account's, and neither deleted nor changed until the transaction ends."""
    held = _of_account(account_id, ids).with_for_update(read=True, key_share=True)
    return set((await tx.execute(held)).scalars())


async def attach(tx: Tx, link_id: UUID, ids: Sequence[UUID]) -> None:
    """Attach exactly these, in this order. The caller holds them."""
    await tx.execute(link_pixels.delete().where(link_pixels.c.link_id == link_id))
    rows = [{"link_id": link_id, "position": position, "pixel_id": id_} for position, id_ in enumerate(ids)]
    if rows:
        await tx.execute(link_pixels.insert(), rows)


async def detach_from_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    await tx.execute(link_pixels.delete().where(link_pixels.c.link_id.in_(link_ids)))


def _is(account_id: UUID, pixel_id: UUID) -> Sequence[ColumnElement[bool]]:
    return pixels.c.id == pixel_id, pixels.c.account_id == account_id


def _pixel(found: CursorResult[Any]) -> Pixel:
    row: Sequence[Any] | None = found.one_or_none()
    if row is None:
        raise NotFound
    return Pixel(*row)


def _of_account(account_id: UUID, ids: Collection[UUID]) -> Select[Any]:
    return select(pixels.c.id).where(pixels.c.account_id == account_id, pixels.c.id.in_(ids)).order_by(pixels.c.id)


class _Ids(TypeDecorator[list[UUID]]):
    """From `position:id,position:id`, in any order."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, _dialect: Dialect) -> list[UUID]:
        numbered = [each.split(":") for each in value.split(",")] if value else []
        return [UUID(id_) for _, id_ in sorted(numbered, key=lambda each: int(each[0]))]


class _Listed(FunctionElement[list[UUID]]):
    type = _Ids()
    inherit_cache = True


@compiles(_Listed, "sqlite")
def _on_sqlite(element: _Listed, compiler: SQLCompiler, **rest: Any) -> str:
    position, id_ = (compiler.process(each, **rest) for each in element.clauses)
    return f"group_concat({position} || ':' || hex({id_}))"


@compiles(_Listed, "postgresql")
def _on_postgresql(element: _Listed, compiler: SQLCompiler, **rest: Any) -> str:
    position, id_ = (compiler.process(each, **rest) for each in element.clauses)
    return f"string_agg({position} || ':' || {id_}, ',')"
