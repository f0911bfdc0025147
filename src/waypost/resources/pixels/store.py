"""SQL of pixels, and of the links that a pixel is attached to. `attached` has the SQL for one link."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, insert, literal, select, union_all, update

from waypost.database import Sealed, Tx
from waypost.kit.pagination import PageRequest
from waypost.resources.pixels.model import Pixel, link_pixels, pixels

_PIXEL = select(*(pixels.c[name] for name in Pixel.__dataclass_fields__))


async def count(tx: Tx, account_id: UUID) -> int:
    counted = select(func.count()).select_from(pixels).where(pixels.c.account_id == account_id)
    return (await tx.execute(counted)).scalar_one()


async def add(tx: Tx, pixel: Pixel, secrets: Mapping[str, Sealed | None]) -> None:
    await tx.execute(insert(pixels), asdict(pixel) | dict(secrets))


async def find(tx: Tx, account_id: UUID, pixel_id: UUID) -> Pixel | None:
    return _pixel((await tx.execute(_PIXEL.where(*_is(account_id, pixel_id)))).one_or_none())


async def find_for_change(tx: Tx, account_id: UUID, pixel_id: UUID) -> Pixel | None:
    """Waits for transactions that attach it, and no other attaches it until this transaction ends."""
    row = (await tx.execute(_PIXEL.where(*_is(account_id, pixel_id)).with_for_update())).one_or_none()
    return _pixel(row)


async def page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Pixel], int]:
    """(pixels of the page, total), newest first."""
    newest = _PIXEL.where(pixels.c.account_id == account_id).order_by(pixels.c.created_at.desc(), pixels.c.id.desc())
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Pixel(*row) for row in rows], await count(tx, account_id)


async def save(tx: Tx, pixel: Pixel, secrets: Mapping[str, Sealed | None]) -> None:
    """Secrets that are not given do not change."""
    values = {"platform": pixel.platform, "name": pixel.name, "updated_at": pixel.updated_at} | dict(secrets)
    await tx.execute(update(pixels).where(pixels.c.id == pixel.id).values(values))


async def remove(tx: Tx, pixel_id: UUID) -> None:
    await tx.execute(delete(pixels).where(pixels.c.id == pixel_id))


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
    detached = delete(link_pixels).where(link_pixels.c.pixel_id == pixel_id, link_pixels.c.link_id.in_(some))
    return (await tx.execute(detached)).rowcount >= at_most


def _is(account_id: UUID, pixel_id: UUID) -> Sequence[ColumnElement[bool]]:
    return pixels.c.id == pixel_id, pixels.c.account_id == account_id


def _pixel(row: Sequence[Any] | None) -> Pixel | None:
    return None if row is None else Pixel(*row)
