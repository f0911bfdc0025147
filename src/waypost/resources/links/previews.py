"""What crawlers and link-preview bots are shown of a link: one page of its Open Graph and Twitter tags.

Holds nothing but text, all of it escaped, and a plain link for a person who comes by. Nothing on it is ever loaded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from uuid import UUID

from sqlalchemy import bindparam, select

from waypost.database import Database
from waypost.redirect import pages
from waypost.resources.links import media
from waypost.resources.links.model import ALIVE, HOSTNAME, links

_FIND = select(
    HOSTNAME.label("hostname"),
    links.c.slug,
    links.c.destination_url,
    links.c.title,
    links.c.og_title,
    links.c.og_description,
    links.c.og_image,
    links.c.og_image_media,
).where(links.c.id == bindparam("link_id"), ALIVE, links.c.is_on)

_SHOWN = 90  # characters of a destination that a person is shown

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
<p class="way"><a href="{destination}" rel="nofollow">{shown}</a></p>
</html>
"""


@dataclass(frozen=True, slots=True)
class Card:
    """What a preview says of a link."""

    url: str
    """The short link, with its scheme."""
    destination: str
    title: str
    description: str = ""
    image: str = ""
    """An absolute URL; empty where there is none."""


async def page_of(db: Database, shared_domain: str, base_url: str, link_id: bytes) -> bytes | None:
    """`link_id`: 32 hex digits. None for a link that leads nowhere by now. Raises Unavailable."""
    async with db.point_read() as tx:
        row = (await tx.execute(_FIND, {"link_id": UUID(link_id.decode())})).one_or_none()
    if row is None:
        return None
    scheme = base_url.partition("://")[0]
    card = Card(
        url=f"{scheme}://{row.hostname or shared_domain}/{row.slug}",
        destination=row.destination_url,
        title=row.og_title or row.title,
        description=row.og_description or "",
        image=media.url(base_url, row.og_image_media) if row.og_image_media else row.og_image or "",
    )
    return drawn(card)


def drawn(card: Card) -> bytes:
    """The page. Each text is put in once, where no text that was put in before is looked at again."""
    return _PAGE.format(
        title=escape(card.title),
        tags="\n".join(_tags(card)),
        style=pages.STYLE,
        description=escape(card.description),
        destination=escape(card.destination),
        shown=escape(_cut(card.destination)),
    ).encode()


def _tags(card: Card) -> Iterator[str]:
    yield _meta("property", "og:type", "website")
    yield _meta("property", "og:url", card.url)
    yield _meta("name", "twitter:card", "summary_large_image" if card.image else "summary")
    for name, text in (("title", card.title), ("description", card.description), ("image", card.image)):
        if text:
            yield _meta("property", f"og:{name}", text)
            yield _meta("name", f"twitter:{name}", text)


def _meta(key: str, name: str, content: str) -> str:
    return f'<meta {key}="{name}" content="{escape(content)}">'


def _cut(url: str) -> str:
    return url if len(url) <= _SHOWN else url[: _SHOWN - 1] + "…"
