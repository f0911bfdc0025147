"""The styles and logos of the QR codes of one account: exported and imported."""

from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from dataclasses import astuple
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.database import Tx, bulk, read_in_batches
from waypost.kit.clock import microseconds, timestamp
from waypost.kit.errors import NotFound
from waypost.kit.json_object import json_value
from waypost.resources.domains import store as domains
from waypost.resources.domains.logos import Logo
from waypost.resources.domains.logos import store as logos
from waypost.resources.links import SHORT_LINKS
from waypost.resources.qrcodes.model import qr_styles
from waypost.resources.qrcodes.style import CodeStyle

_BATCH = 1_000


async def read_styles(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the styles that were changed, by link. All other codes have the default style."""
    link = SHORT_LINKS.c
    query = select(qr_styles).join(SHORT_LINKS, link.id == qr_styles.c.link_id)
    query = query.where(link.account_id == account_id, link.deleted_at.is_(None))
    async for rows in read_in_batches(context.db.read_long, query, qr_styles.c.link_id, _BATCH):
        yield [dict(zip(qr_styles.c.keys(), map(json_value, row), strict=True)) for row in rows]


async def add_styles(tx: Tx, styles: Sequence[tuple[UUID, CodeStyle, datetime]]) -> None:
    """Set the styles of links whose codes have the default style."""
    rows = sorted((link_id.bytes, *astuple(style), microseconds(at)) for link_id, style, at in styles)
    await bulk.insert(tx, qr_styles, rows, on_conflict="ON CONFLICT (link_id) DO NOTHING")


async def read_logos(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield one logo at a time, with the hostname of its domain, or None for that of the account."""
    async with context.db.read() as tx:
        found = await logos.list_of_account(tx, account_id)
    for logo, hostname in found:
        async with context.db.read() as tx:
            content = await logos.read(tx, logo.name)
        if content is not None:
            image = b64encode(content).decode()
            yield [{"hostname": hostname, "image": image, "updated_at": timestamp(logo.updated_at)}]


async def add_logo(tx: Tx, account_id: UUID, logo: Logo, content: bytes) -> None:
    """Set the logo, if there is none. One of a domain that was deleted meanwhile is left out."""
    if logo.owner_id != account_id:
        try:
            await domains.get_for_update(tx, account_id, logo.owner_id)
        except NotFound:
            return
    if await logos.find(tx, logo.owner_id) is None:
        await logos.save(tx, account_id, logo, content)
