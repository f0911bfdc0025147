"""The styles of the QR codes of one account: exported and imported."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import astuple
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.database import NamedRow, Tx, bulk
from waypost.kit.clock import microseconds
from waypost.kit.json_object import json_value
from waypost.resources.links import SHORT_LINKS
from waypost.resources.qrcodes.model import qr_styles
from waypost.resources.qrcodes.style import CodeStyle

_BATCH = 1_000


async def read_styles(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the styles that were changed, by link. All other codes have the default style."""
    link = SHORT_LINKS.c
    query = select(qr_styles).join(SHORT_LINKS, link.id == qr_styles.c.link_id)
    query = query.where(link.account_id == account_id, link.deleted_at.is_(None)).order_by(qr_styles.c.link_id)
    rows: Sequence[NamedRow[Any]] = ()
    while not rows or len(rows) == _BATCH:
        page = query.where(qr_styles.c.link_id > rows[-1].link_id) if rows else query
        async with context.db.read_long() as tx:
            rows = (await tx.execute(page.limit(_BATCH))).all()
        if not rows:
            return
        yield [dict(zip(qr_styles.c.keys(), map(json_value, row), strict=True)) for row in rows]


async def add_styles(tx: Tx, styles: Sequence[tuple[UUID, CodeStyle, datetime]]) -> None:
    """Set the styles of links whose codes have the default style."""
    rows = sorted((link_id.bytes, *astuple(style), microseconds(at)) for link_id, style, at in styles)
    await bulk.insert(tx, qr_styles, rows, on_conflict="ON CONFLICT (link_id) DO NOTHING")
