"""SQL of shares."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, select, update

from waypost.database import Result, Tx
from waypost.kit.errors import or_not_found
from waypost.kit.pagination import PageRequest
from waypost.resources.links.tags.store import current_tag
from waypost.resources.shares.model import Share, shares

_NAME, _ID = (current_tag(shares.c.account_id, shares.c.tag_id, part) for part in ("name", "id"))
_TAG = {"tag": func.coalesce(_NAME, shares.c.tag), "tag_id": _ID}
_SHARES = select(*(_TAG.get(name, shares.c[name]) for name in Share.__dataclass_fields__))


async def count(tx: Tx, account_id: UUID) -> int:
    query = select(func.count()).select_from(shares).where(shares.c.account_id == account_id)
    return (await tx.execute(query)).scalar_one()


async def add(tx: Tx, share: Share, token_digest: str) -> None:
    await tx.execute(insert(shares), {**_values(share), "token_digest": token_digest})


async def find(tx: Tx, account_id: UUID, share_id: UUID) -> Share | None:
    return _share(await tx.execute(_SHARES.where(shares.c.id == share_id, shares.c.account_id == account_id)))


async def find_by_digest(tx: Tx, token_digest: str) -> Share | None:
    return _share(await tx.execute(_SHARES.where(shares.c.token_digest == token_digest)))


async def lock(tx: Tx, account_id: UUID, share_id: UUID) -> Share:
    """Raises NotFound."""
    query = _SHARES.where(shares.c.id == share_id, shares.c.account_id == account_id).with_for_update(of=shares)
    return or_not_found(_share(await tx.execute(query)))


async def list_page(tx: Tx, account_id: UUID, request: PageRequest) -> tuple[list[Share], int]:
    """Return the shares of the page, newest first, and the total."""
    newest = _SHARES.where(shares.c.account_id == account_id).order_by(shares.c.created_at.desc(), shares.c.id.desc())
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Share(*row) for row in rows], await count(tx, account_id)


async def save(tx: Tx, share: Share) -> None:
    await tx.execute(update(shares).where(shares.c.id == share.id).values(_values(share)))


async def delete(tx: Tx, share_id: UUID) -> None:
    await tx.execute(shares.delete().where(shares.c.id == share_id))


async def delete_of_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    await tx.execute(shares.delete().where(shares.c.link_id.in_(link_ids)))


def _values(share: Share) -> dict[str, Any]:
    return {name: getattr(share, name) for name in Share.__dataclass_fields__}


def _share(result: Result[Any]) -> Share | None:
    row: Sequence[Any] | None = result.one_or_none()
    return Share(*row) if row else None
