"""What other resources ask of links inside their own transactions: is it there, and what is it called."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select

from waypost.database import Tx
from waypost.kit.errors import NotFound
from waypost.resources.links import store
from waypost.resources.links.model import ALIVE, HOSTNAME, Link, links

SHORT_LINKS = select(
    *(links.c.id, links.c.account_id, HOSTNAME.label("hostname"), links.c.slug, links.c.created_at, links.c.deleted_at)
).subquery("short_links")
"""Every link, deleted ones included, for the statements of other packages. The databases merge it into them."""


async def require(tx: Tx, account_id: UUID, link_id: UUID) -> Link:
    """Raises NotFound, too, for another account's link and for a deleted one."""
    link = await store.find(tx, account_id, link_id)
    if link is None:
        raise NotFound
    return link


async def find_names(tx: Tx, ids: Sequence[UUID], *, shared_domain: str) -> dict[UUID, tuple[str, str]]:
    """(short URL, title) of each that is there; deleted links are missing. For a page's worth of ids."""
    hostname = func.coalesce(HOSTNAME, shared_domain)
    found = await tx.execute(
        select(links.c.id, hostname, links.c.slug, links.c.title).where(links.c.id.in_(ids), ALIVE)
    )
    return {link_id: (f"{host}/{slug}", title) for link_id, host, slug, title in found}
