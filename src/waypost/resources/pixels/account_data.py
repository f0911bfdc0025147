"""Exports and deletes the pixels of an account, all at once because they are few."""

from uuid import UUID

from sqlalchemy import delete

from waypost.database import Database
from waypost.kit.pagination import PageRequest
from waypost.resources.pixels import store
from waypost.resources.pixels.model import pixels
from waypost.resources.pixels.schemas import PixelJson, to_json


async def export(db: Database, account_id: UUID) -> list[PixelJson]:
    """As the API shows them."""
    async with db.read() as tx:
        found, _ = await store.page(tx, account_id, PageRequest(1, 10_000))
    return [to_json(each) for each in found]


async def delete_all_for(db: Database, account_id: UUID) -> None:
    async with db.write() as tx:
        await tx.execute(delete(pixels).where(pixels.c.account_id == account_id))
