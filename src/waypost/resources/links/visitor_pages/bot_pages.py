"""The page that crawlers and link-preview bots get for a link: its Open Graph and Twitter tags.

It shows escaped text and a plain link, and loads nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from uuid import UUID

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.redirect import pages
from waypost.resources.links.images import media
from waypost.resources.links.model import HOSTNAME, NOT_DELETED, links

_FIELDS = ("slug", "destination_url", "title", "og_title", "og_description", "og_image", "og_image_file_name")
_FIND = select(HOSTNAME.label("hostname"), *(links.c[name] for name in _FIELDS)).where(
    links.c.id == bindparam("link_id"), NOT_DELETED, links.c.is_enabled
)

_MAX_LABEL = 90  # characters

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
{tags}
<style>{style}</style>
<h1 lang="" dir="auto">{title}</h1>
<p lang="" dir="auto">{description}</p>
<p class="open-link"><a href="{destination}" rel="nofollow">{label}</a></p>
</html>
"""


@dataclass(frozen=True, slots=True)
class BotPage:
    url: str
    """The short URL, with its scheme."""
    destination: str
    title: str
    description: str = ""
    image: str = ""
    """An absolute URL, or empty."""


async def find_bot_page(db: Database, shared_domain: str, base_url: str, link_id: bytes) -> bytes | None:
    """Render the page of a link; None if it was deleted or disabled. Raises Unavailable.

    `link_id`: 32 hex digits.
    """
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND, {"link_id": UUID(link_id.decode())})).one_or_none()
    if row is None:
        return None
    scheme = base_url.partition("://")[0]
    page = BotPage(
        url=f"{scheme}://{row.hostname or shared_domain}/{row.slug}",
        destination=row.destination_url,
        title=row.og_title or row.title,
        description=row.og_description or "",
        image=media.url(base_url, row.og_image_file_name) if row.og_image_file_name else row.og_image or "",
    )
    return render(page)


def render(page: BotPage) -> bytes:
    """Fill the template once, so that no text is parsed for placeholders."""
    is_short = len(page.destination) <= _MAX_LABEL
    label = page.destination if is_short else f"{page.destination[: _MAX_LABEL - 1]}…"
    return _PAGE.format(
        title=escape(page.title),
        tags="\n".join(_tags(page)),
        style=pages.STYLE,
        description=escape(page.description),
        destination=escape(page.destination),
        label=escape(label),
    ).encode()


def _tags(page: BotPage) -> Iterator[str]:
    yield _meta("property", "og:type", "website")
    yield _meta("property", "og:url", page.url)
    yield _meta("name", "twitter:card", "summary_large_image" if page.image else "summary")
    for name, text in (("title", page.title), ("description", page.description), ("image", page.image)):
        if text:
            yield _meta("property", f"og:{name}", text)
            yield _meta("name", f"twitter:{name}", text)


def _meta(key: str, name: str, content: str) -> str:
    return f'<meta {key}="{name}" content="{escape(content)}">'
