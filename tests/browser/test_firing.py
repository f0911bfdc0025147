"""The page with tags in a real Chromium, against scripted platforms: what it fires, and that it always leaves."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import pytest
import pytest_asyncio
from PIL import Image
from resources.pixels.ids import FORMS
from wire import (
    LINK,
    Previews,
    Wire,
    alias_source,
    aliases,
    connections,
    feed,
    hosts,
    near,
    near_source,
    previews,
    serve_fast,
    source,
    state,
    table,
    visits,
)

from bench.platforms import DESTINATION, SCRIPT_HOSTS, Platforms
from browser.hostile import TEXTS
from browser.watching import Watched, watched
from waypost.http.connections import Connections
from waypost.redirect import RedirectState, new_route

__all__ = [
    "alias_source",
    "aliases",
    "connections",
    "feed",
    "hosts",
    "near",
    "near_source",
    "previews",
    "source",
    "state",
    "table",
    "visits",
]

PIXELS = [
    ("facebook", "1234567890"),
    ("facebook", "2345678901"),
    ("tiktok", "C4ABCDEFGHIJ"),
    ("tiktok", "C4JIHGFEDCBA"),
    ("pinterest", "2612345678901"),
    ("google_ads", "AW-123456789"),
    ("google_ads", "AW-987654321"),
]
EVENTS = {"facebook": "PageView", "tiktok": "Pageview", "pinterest": "page", "google_ads": "page_view"}


@pytest.fixture
def platforms(ad_platforms: Platforms) -> Platforms:
    return ad_platforms


@pytest_asyncio.fixture(loop_scope="session")
async def fast(state: RedirectState, connections: Connections, previews: Previews) -> AsyncIterator[Wire]:
    """In the loop of the browser."""
    async with serve_fast(state, connections, previews) as wire:
        yield wire


@dataclass
class Links:
    wire: Wire
    routes: dict

    def add(self, pixels: list[tuple[str, str]], destination: str = DESTINATION) -> str:
        """The short link's address."""
        host = f"go.test:{self.wire.port}"
        numbered = [(UUID(int=number), *pixel) for number, pixel in enumerate(pixels, 1)]
        slug = f"s{len(self.routes)}"
        self.routes[slug.encode()] = new_route(host.encode(), destination, UUID(LINK.decode()), pixels=numbered)
        return f"http://{host}/{slug}"


@pytest.fixture
def links(fast, source) -> Links:
    return Links(fast, source.routes)


async def follow(visitor: Watched, url: str, destination: str = DESTINATION) -> None:
    await visitor.page.goto(url, wait_until="commit")
    await visitor.page.wait_for_url(destination)


async def test_pixel_page_fires_its_tags_and_leaves(chromium, links, platforms, visits) -> None:
    visitor = await watched(chromium)
    await follow(visitor, links.add(PIXELS))
    (visit,) = visits()
    event = str(UUID(visit.id.decode()))
    expected = [(name, own, EVENTS[name], "" if name == "google_ads" else event) for name, own in PIXELS]
    assert platforms.fired() == sorted(expected)
    assert visitor.trouble == []
    assert await visitor.page.inner_text("p") == "There you are."
    assert visit.pixels.count(b",") == len(PIXELS) - 1


async def test_each_platform_alone(chromium, links, platforms) -> None:
    for name in SCRIPT_HOSTS:
        platforms.clear()
        visitor = await watched(chromium)
        await follow(visitor, links.add([(name, "ID-1")]))
        assert [found[:3] for found in platforms.fired()] == [(name, "ID-1", EVENTS[name])]
        assert visitor.trouble == [], name


async def test_what_is_blocked_is_not_waited_for(chromium, links, platforms) -> None:
    """A visitor with a content blocker leaves although the timer stands still."""
    visitor = await watched(chromium)
    for host in SCRIPT_HOSTS.values():
        await visitor.page.route(f"https://{host}/**", lambda route: route.abort("blockedbyclient"))
    await visitor.page.add_init_script("window.setTimeout = () => 0")
    await follow(visitor, links.add(PIXELS))
    assert platforms.fired() == []


async def test_a_platform_that_hangs_up_keeps_no_other_from_firing(chromium, links, platforms) -> None:
    platforms.hanging_up = {SCRIPT_HOSTS["facebook"]}
    visitor = await watched(chromium)
    await follow(visitor, links.add(PIXELS))
    assert {found[0] for found in platforms.fired()} == {"tiktok", "pinterest", "google_ads"}


async def test_a_script_that_hangs_is_left_behind(chromium, links, platforms) -> None:
    platforms.hanging = {SCRIPT_HOSTS["pinterest"]}
    visitor = await watched(chromium)
    await follow(visitor, links.add(PIXELS))
    assert {found[0] for found in platforms.fired()} == {"facebook", "tiktok", "google_ads"}


async def test_a_request_that_is_never_answered_is_left_behind(chromium, links, platforms) -> None:
    platforms.hanging = {"www.facebook.com"}
    visitor = await watched(chromium)
    await follow(visitor, links.add([("facebook", "1")]))
    assert len(platforms.fired()) == 1


async def test_without_scripts(chromium, links, platforms) -> None:
    visitor = await watched(chromium, java_script_enabled=False)
    await follow(visitor, links.add(PIXELS, f"{DESTINATION}?a=1&copy=2;url=x"), f"{DESTINATION}?a=1&copy=2;url=x")
    assert [url for _, url in platforms.requests] == ["destination.test/?a=1&copy=2;url=x"]


async def test_going_back_leads_to_where_the_visitor_came_from(chromium, links) -> None:
    for has_scripts in (True, False):
        visitor = await watched(chromium, java_script_enabled=has_scripts)
        await visitor.page.goto(f"{DESTINATION}before")
        await follow(visitor, links.add(PIXELS))
        await visitor.page.go_back()
        assert visitor.page.url == f"{DESTINATION}before", has_scripts


async def test_hostile_pixels_and_destinations_do_nothing(chromium, links, platforms, visits) -> None:
    visitor = await watched(chromium)
    await visitor.page.add_init_script(
        "Object.defineProperty(window, 'harmed', { set() { console.error('harmed') }, get() { return 1 } })"
    )
    for name, text in (TEXTS | FORMS).items():
        platforms.clear()
        destination = f"{DESTINATION}?'><script>window.harmed=1</script>"
        pixels = [(platform, text) for platform in SCRIPT_HOSTS]
        await visitor.page.goto(links.add(pixels, destination), wait_until="commit")
        await visitor.page.wait_for_url(lambda url: url.startswith(DESTINATION))
        assert {platform: own for platform, own, *_ in platforms.fired()} == dict(pixels), name
        assert visitor.trouble == [], name
        assert visits()[-1].pixels.count(b",") == len(pixels) - 1


async def test_a_container_is_no_script_of_the_page(chromium, links, platforms) -> None:
    """A container holds whatever scripts its owner wrote."""
    for pixels, asked in (
        (["GTM-ABC123"], ""),
        (["gtm-abc", " Opt-1"], ""),
        (["GTM-ABC123", "odd id"], "odd%20id"),
        (["GTM-ABC123", "odd id", "AW-1"], "AW-1"),
    ):
        platforms.clear()
        visitor = await watched(chromium)
        await follow(visitor, links.add([("google_ads", text) for text in pixels]))
        scripts = [url for _, url in platforms.requests if url.startswith(SCRIPT_HOSTS["google_ads"])]
        assert scripts == [f"{SCRIPT_HOSTS['google_ads']}/gtag/js?id={asked}"]
        assert [found[1] for found in platforms.fired()] == sorted(pixels)


async def test_what_an_injected_script_does_would_be_refused(chromium, links, platforms) -> None:
    """The page's own policy, with a script on it that somebody slipped in."""
    platforms.hanging = {SCRIPT_HOSTS["facebook"]}
    visitor = await watched(chromium)
    await visitor.page.add_init_script("window.setTimeout = () => 0")  # the page stays
    await visitor.page.goto(links.add([("facebook", "1")]), wait_until="commit")
    await visitor.page.wait_for_selector("#visit", state="attached")
    refused = await visitor.page.evaluate(
        """() => new Promise(reported => {
            addEventListener("securitypolicyviolation", event => reported(event.effectiveDirective));
            document.head.insertAdjacentHTML("beforeend", "<img src=https://evil.test/x>");
        })"""
    )
    assert refused == "img-src"


async def test_nothing_is_shown(chromium, links, platforms, tmp_path) -> None:
    platforms.hanging = {SCRIPT_HOSTS["facebook"]}
    for scheme, (width, height) in itertools.product(("light", "dark"), ((1280, 800), (390, 844))):
        visitor = await watched(chromium, color_scheme=scheme, viewport={"width": width, "height": height})
        await visitor.page.add_init_script("window.setTimeout = () => 0")  # the page stays
        await visitor.page.goto(links.add([("facebook", "1")]), wait_until="commit")
        await visitor.page.wait_for_selector("#visit", state="attached")
        assert await visitor.page.evaluate("document.body?.innerText ?? ''") == ""
        await visitor.page.screenshot(path=tmp_path / "page.png")
        with Image.open(tmp_path / "page.png") as seen:
            ((count, color),) = seen.convert("RGB").getcolors()
        assert count == width * height, scheme
        assert color == (255, 255, 255) if scheme == "light" else max(color) < 40
        assert platforms.fired() == []
        await visitor.page.context.close()
