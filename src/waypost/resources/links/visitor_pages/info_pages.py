"""The page at a link's address with a plus: its title, where it leads, and since when it exists."""

from html import escape
from uuid import UUID

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.redirect import report_pages
from waypost.resources.links import routing
from waypost.resources.links.model import HOSTNAME, NOT_DELETED, links

_FIELDS = ("slug", "destination_url", "title", "created_at", "starts_at")
_FIND = select(HOSTNAME.label("hostname"), *(links.c[name] for name in _FIELDS)).where(
    links.c.id == bindparam("link_id"), NOT_DELETED, links.c.is_enabled
)

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{address}</title>
<style>{style}</style>
<main>
<h1 lang="" dir="auto">{title}</h1>
<dl>
<dt>Short link</dt><dd>{address}</dd>
<dt>Destination</dt><dd>{destination}</dd>
<dt>Created</dt><dd><time datetime="{day:%Y-%m-%d}">{day.day} {day:%B %Y}</time></dd>
</dl>
<details>
<summary>Report this link</summary>
{form}</details>
</main>
</html>
"""


async def find_info_page(db: Database, shared_domain: str, clock: Clock, link_id: bytes) -> bytes | None:
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
    page = _PAGE.format(
        style=report_pages.STYLE,
        form=report_pages.form(),
        title=escape(row.title),
        address=escape(f"{row.hostname or shared_domain}/{row.slug}"),
        destination=destination,
        day=row.created_at,
    )
    return page.encode()
