"""Finds what the page at a link's address with a plus shows."""

from html import escape
from uuid import UUID

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.redirect import report_pages
from waypost.redirect.pages import Appearance
from waypost.resources.links import routing
from waypost.resources.links.model import HOSTNAME, NOT_DELETED, links

_FIELDS = ("slug", "destination_url", "title", "created_at", "starts_at")
_FIND = select(HOSTNAME.label("hostname"), *(links.c[name] for name in _FIELDS)).where(
    links.c.id == bindparam("link_id"), NOT_DELETED, links.c.is_enabled
)


async def find_info_page(
    db: Database, shared_domain: str, clock: Clock, link_id: bytes, appearance: Appearance
) -> bytes | None:
    """Render the page of a link; None if it was deleted or disabled. Raises Unavailable.

    `link_id`: 32 hex digits.
    """
    id_ = UUID(link_id.decode())
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND, {"link_id": id_})).one_or_none()
        of_link = await routing.find(tx, id_)
    if row is None:
        return None
    url = escape(row.destination_url)
    if of_link and of_link.password_hash:
        destination = "Protected by a password"
    elif row.starts_at and row.starts_at > clock():
        destination = "The link has not started yet"
    else:
        destination = f'<a href="{url}" rel="nofollow" dir="ltr">{url}</a>'
    address = f"{row.hostname or shared_domain}/{row.slug}"
    return report_pages.info_page(row.title, address, destination, row.created_at, appearance)
