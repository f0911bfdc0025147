"""Pixels of a link, for `links`, which calls this inside its own transactions.

Rows of a deleted pixel are ignored wherever they are read, so that a deletion need not wait for its last link.
"""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Dialect, Select, Text, delete, insert, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from waypost.database import Tx
from waypost.resources.pixels.model import link_pixels, pixels


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
    await tx.execute(delete(link_pixels).where(link_pixels.c.link_id == link_id))
    rows = [{"link_id": link_id, "position": position, "pixel_id": id_} for position, id_ in enumerate(ids)]
    if rows:
        await tx.execute(insert(link_pixels), rows)


async def detach_from_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    await tx.execute(delete(link_pixels).where(link_pixels.c.link_id.in_(link_ids)))


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
