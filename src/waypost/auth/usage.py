"""What an account uses: its number of links and the bytes of its images. Links count them in their transactions."""

from uuid import UUID

from sqlalchemy import BindParameter, ColumnElement, ScalarSelect, select, update

from waypost.auth.model import accounts
from waypost.database import PointRead, Tx


def links_count_of(account_id: UUID | ColumnElement[UUID] | BindParameter[UUID]) -> ScalarSelect[int]:
    """As an expression for the statement around it."""
    return select(accounts.c.links_count).where(accounts.c.id == account_id).scalar_subquery()


async def count_links(tx: Tx, account_id: UUID) -> int:
    return await tx.scalar(select(accounts.c.links_count).where(accounts.c.id == account_id)) or 0


async def adjust_links_count(tx: Tx, account_id: UUID, difference: int) -> bool:
    """False for a closed account."""
    is_open = accounts.c.id == account_id, accounts.c.closed_at.is_(None)
    adjusted = update(accounts).where(*is_open).values(links_count=accounts.c.links_count + difference)
    return (await tx.execute(adjusted)).rowcount > 0


async def image_bytes(tx: Tx | PointRead, account_id: UUID) -> int:
    row = (await tx.execute(select(accounts.c.image_bytes).where(accounts.c.id == account_id))).one_or_none()
    return row.image_bytes if row else 0


async def adjust_image_bytes(tx: Tx, account_id: UUID, difference: int, *, limit: int) -> bool:
    """False when the total would exceed `limit`; two uploads at the same time cannot both pass it.

    The account's row comes last in a transaction: others that hold links or domains wait for it.
    """
    if difference == 0:
        return True
    allowed = accounts.c.id == account_id
    if difference > 0:
        allowed &= accounts.c.image_bytes + difference <= limit
    adjusted = update(accounts).where(allowed).values(image_bytes=accounts.c.image_bytes + difference)
    return (await tx.execute(adjusted)).rowcount > 0
