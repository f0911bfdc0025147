"""Exports the logos of one account and of its domains, and imports them."""

from base64 import b64encode
from collections.abc import AsyncIterator
from uuid import UUID

from typing_extensions import TypedDict

from waypost.context import Context
from waypost.database import Tx
from waypost.kit.clock import timestamp
from waypost.kit.errors import NotFound
from waypost.kit.fields import TimestampText
from waypost.resources.domains import store as domains
from waypost.resources.domains.logos import store


class ExportedLogoJson(TypedDict):
    hostname: str | None
    """None: of the account."""
    image: str
    """PNG, in base64."""
    updated_at: TimestampText


async def read_logos(context: Context, account_id: UUID) -> AsyncIterator[list[ExportedLogoJson]]:
    """Yield one logo at a time."""
    async with context.db.read() as tx:
        found = await store.list_of_account(tx, account_id)
    for logo, hostname in found:
        async with context.db.read() as tx:
            content = await store.read(tx, logo.name)
        if content is not None:
            image = b64encode(content).decode()
            yield [{"hostname": hostname, "image": image, "updated_at": timestamp(logo.updated_at)}]


async def add(tx: Tx, account_id: UUID, logo: store.Logo, content: bytes) -> None:
    """Set the logo, if there is none. One of a domain that was deleted meanwhile is left out."""
    if logo.owner_id != account_id:
        try:
            await domains.get_for_update(tx, account_id, logo.owner_id)
        except NotFound:
            return
    if await store.find(tx, logo.owner_id) is None:
        await store.save(tx, account_id, logo, content)
