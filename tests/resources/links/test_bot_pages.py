"""The page that bots get for a link: every field is in it, and nothing else."""

import io
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from browser.hostile import TEXTS
from domains import domain
from hypothesis import given
from hypothesis import strategies as st
from people import BASE_URL
from PIL import Image
from resources.links.env import SHARED, Env

from waypost.database import Database
from waypost.kit.errors import Unavailable
from waypost.resources.links.visitor_pages.bot_pages import BotPage, find_bot_page, render

CARD = BotPage("https://go.test/a", "https://example.com/", "Title", "Description", "https://example.com/i.png")


@dataclass
class Seen(HTMLParser):
    """What a bot reads: tags by their name, each element with its attributes, texts by element."""

    page: bytes
    tags: dict[str, str] = field(default_factory=dict)
    elements: list[tuple[str, ...]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    href: str | None = None

    def __post_init__(self) -> None:
        super().__init__()
        self._open = ""
        self.feed(self.page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, *given))
        self._open = tag
        if name := given.get("property") or given.get("name"):
            assert name not in self.tags
            self.tags[name] = given["content"] or ""
        self.href = given.get("href", self.href)

    def handle_data(self, data: str) -> None:
        self.texts[self._open] = self.texts.get(self._open, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


async def seen(env: Env, link: dict, base_url: str = BASE_URL) -> Seen:
    page = await find_bot_page(env.deps.db, SHARED, base_url, UUID(link["id"]).hex.encode())
    assert page is not None
    return Seen(page)


async def test_shows_open_graph_and_twitter_tags(env: Env) -> None:
    link = await env.make(slug="Here", title="T", og_title="OG", og_description="D", og_image="https://i.test/a.png")
    page = await seen(env, link, "https://app.test")
    assert page.tags == {
        "viewport": "width=device-width, initial-scale=1",
        "robots": "noindex",
        "og:type": "website",
        "og:url": f"https://{SHARED}/Here",
        "og:title": "OG",
        "og:description": "D",
        "og:image": "https://i.test/a.png",
        "twitter:card": "summary_large_image",
        "twitter:title": "OG",
        "twitter:description": "D",
        "twitter:image": "https://i.test/a.png",
    }
    assert (page.texts["title"], page.texts["h1"], page.texts["p"]) == ("OG", "OG", "D")
    assert (page.href, page.texts["a"]) == (env.site.url(), env.site.url())


async def test_falls_back_to_the_title(env: Env) -> None:
    link = await env.make(title="Title")
    page = await seen(env, await env.changed(link, og_title=None, og_description=None, og_image=None))
    assert (page.tags["og:title"], page.tags["twitter:title"], page.texts["h1"]) == ("Title", "Title", "Title")
    assert page.tags["twitter:card"] == "summary"
    assert not page.tags.keys() & {"og:description", "twitter:description", "og:image", "twitter:image"}


async def test_a_hosted_image_has_an_absolute_url(env: Env) -> None:
    image_bytes = io.BytesIO()
    Image.new("RGB", (4, 4)).save(image_bytes, "png")
    sent = await env.send_form("POST", "", [("destination_url", env.site.url())], image_bytes.getvalue())
    link = sent.json()["data"]
    page = await seen(env, link)
    assert page.tags["og:image"] == page.tags["twitter:image"] == link["og_image"]
    assert link["og_image"].startswith(f"{BASE_URL}/media/")


async def test_uses_the_links_domain(env: Env) -> None:
    await domain(env.deps.db, env.alice.account_id, "brand.test")
    link = await env.make(slug="a", hostname="brand.test")
    assert (await seen(env, link)).tags["og:url"] == "http://brand.test/a"


async def test_disabled_and_deleted_links_have_no_page(env: Env) -> None:
    deleted, off = await env.make(), await env.make()
    await env.delete(deleted)
    await env.changed(off, status="inactive")
    for link_id in (UUID(deleted["id"]), UUID(off["id"]), uuid4()):
        assert await find_bot_page(env.deps.db, SHARED, BASE_URL, link_id.hex.encode()) is None


@pytest.mark.parametrize("url", ["sqlite:///{0}/none/waypost.db", "postgresql://postgres@/none?host={0}"])
async def test_raises_unavailable_without_a_database(url: str, tmp_path: Path) -> None:
    db = Database(url.format(tmp_path))
    with pytest.raises(Unavailable):
        await find_bot_page(db, SHARED, BASE_URL, uuid4().hex.encode())
    await db.close()


def assert_says(page: Seen, card: BotPage) -> None:
    """Exactly what it was given, in the elements and attributes of an ordinary page."""
    assert page.elements == Seen(render(CARD)).elements
    for kind in ("og", "twitter"):
        texts = [page.tags[f"{kind}:{name}"] for name in ("title", "description", "image")]
        assert texts == [card.title, card.description, card.image]
    assert (page.tags["og:url"], page.href) == (card.url, card.destination)
    assert (page.texts["title"], page.texts["h1"], page.texts["p"]) == (card.title, card.title, card.description)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_escapes_hostile_text(text: str) -> None:
    card = BotPage(text, text, text, text, text)
    assert_says(Seen(render(card)), card)


@given(*[st.text(min_size=1)] * 5)
def test_escapes_any_text(url: str, destination: str, title: str, description: str, image: str) -> None:
    card = BotPage(url, destination, title, description, image)
    assert_says(Seen(render(card)), card)


def test_shortens_a_long_destination() -> None:
    card = BotPage("https://go.test/a", "https://example.com/" + "a" * 2000, "Title")
    page = Seen(render(card))
    assert page.href == card.destination
    assert page.texts["a"] == card.destination[:89] + "…"
