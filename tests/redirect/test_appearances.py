"""Pages of custom domains with a name, a color and texts of their own."""

import re
from base64 import b64encode
from hashlib import sha256
from uuid import UUID

import pytest
from wire import HOST, LINK, Previews, Routes, Wire, route

from waypost.redirect import Appearance, ChangeFeed, HostTable, RouteOptions, alias_change, new_alias, new_host
from waypost.redirect.pages import EXPIRED, NOT_FOUND
from waypost.redirect.route import new_route

BRAND, BARE = b"go.brand.test", b"plain.test"
OWN = Appearance("Acme & <Söhne>", "#ffe600", "No such <page>.", "Sale is over.\nSorry.", "Come on Monday.", "Ask Ann.")


@pytest.fixture
def hosts(feed: ChangeFeed) -> HostTable:
    brand = new_host("https://brand.test/", None, has_appearance=True, has_aliases=True)
    known = {BRAND: brand, BARE: new_host(None, None)}
    return HostTable(Routes(known), feed, capacity=16)


@pytest.fixture
def previews() -> Previews:
    return Previews(appearances={BRAND: OWN})


@pytest.fixture
def source(source: Routes) -> Routes:
    def with_options(**options: object) -> object:
        return new_route(BRAND, "https://example.com/", UUID(LINK.decode()), options=RouteOptions(**options))

    source.routes |= {b"over": route(host=BRAND, expires_at=1.0), b"here": route(expires_at=1.0)}
    source.routes |= {b"soon": with_options(starts_at=1e12), b"locked": with_options(password_version=1)}
    return source


async def shown(wire: Wire, path: bytes, host: bytes = BRAND) -> str:
    answer = await wire.say(b"GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host))
    head, _, body = answer.decode().partition("\r\n\r\n")
    style = re.search(r"<style>(.*)</style>", body, re.DOTALL)
    assert style, head
    assert f"sha256-{b64encode(sha256(style[1].encode()).digest()).decode()}" in head, "else browsers refuse the style"
    return body


async def test_shows_name_color_and_texts(fast: Wire, plain: Wire, previews: Previews) -> None:
    for wire in (fast, plain):
        for path, text in (
            (b"nothing", "No such &lt;page&gt;."),
            (b"over", "Sale is over.\nSorry."),
            (b"soon", "Come on Monday."),
            (b"locked", "Ask Ann."),
        ):
            page = await shown(wire, path)
            assert text in page
            assert '<header><a href="/"><bdi lang="">Acme &amp; &lt;Söhne&gt;</bdi></a></header>' in page
            assert "--accent:#ffe600" in page, "it is readable on a dark background"
            assert page.count("--accent:") == 2 > page.count("--accent:#ffe600"), "and not on a light one"
            assert "--brand:#ffe600" in page
            assert ("--on:#000000" in page) == (path == b"locked"), "only forms have buttons"
    assert previews.appearances_asked == [BRAND] * 2, "once in each application"


async def test_other_domains_have_the_plain_pages(fast: Wire, previews: Previews) -> None:
    assert await shown(fast, b"nothing", HOST) == await shown(fast, b"nothing", BARE) == NOT_FOUND.decode()
    assert await shown(fast, b"here", HOST) == EXPIRED.decode()
    assert previews.appearances_asked == []


async def test_the_page_about_a_link_by_an_alias_is_not_that_of_its_own_host(
    fast: Wire, plain: Wire, alias_source: Routes
) -> None:
    alias = alias_change(BRAND.decode(), "sale").encode()
    alias_source.routes[alias] = new_alias(BRAND, "hello", UUID(LINK.decode()))
    for wire in (plain, fast, fast):  # the last time from memory
        for host, path, is_branded in ((BRAND, b"sale", True), (HOST, b"hello", False), (BRAND, b"sale", True)):
            answer = await wire.say(b"GET /%s+ HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host))
            assert (b"<h1>Info</h1>" in answer, b"Acme" in answer) == (True, is_branded)


async def test_serves_the_logo_beside_the_pages(fast: Wire, previews: Previews) -> None:
    previews.appearances[BRAND] = OWN._replace(name="", logo_url="/logo?1", logo_width=80, logo_height=40)
    page = await shown(fast, b"nothing")
    assert '<a href="/"><img src="/logo?1" alt="Home" width="80" height="40"></a>' in page
    for host, status in ((BRAND, b"200"), (BARE, b"404"), (HOST, b"404")):
        answer = await fast.say(b"GET /.well-known/waypost-logo.png HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
        assert answer.split()[1] == status
        assert (b"content-type: image/png" in answer and answer.endswith(b"PNG")) == (status == b"200")


async def test_pages_are_plain_while_the_database_is_away(fast: Wire, previews: Previews) -> None:
    previews.is_gone = True
    assert await shown(fast, b"nothing") == NOT_FOUND.decode()
    previews.is_gone = False
    assert "Acme" in await shown(fast, b"nothing")
