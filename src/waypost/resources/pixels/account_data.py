"""Exports the pixels of one account."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from waypost.context import Context
from waypost.database import Database
from waypost.kit.pagination import PageRequest
from waypost.resources.pixels import store
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.schemas import PixelJson, to_json
from waypost.resources.pixels.service import MAX_PIXELS


async def read_pixels(context: Context, account_id: UUID) -> AsyncIterator[list[PixelJson]]:
    """Yield the pixels as the API shows them."""
    yield [to_json(pixel) for pixel in await find_all(context.db, account_id)]


async def find_all(db: Database, account_id: UUID) -> Sequence[Pixel]:
    async with db.read() as tx:
        pixels, _ = await store.list_page(tx, account_id, PageRequest(1, MAX_PIXELS))
    return pixels
