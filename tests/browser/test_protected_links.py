"""The password form in a real Chromium, with and without the headers that only secure origins send."""

from uuid import UUID

import pytest
import pytest_asyncio
from wire import LINK, Previews, Routes, Wire, serve_fast

from bench.platforms import DESTINATION, Platforms
from browser.test_firing import (
    alias_source,
    aliases,
    connections,
    feed,
    hosts,
    near,
    near_source,
    previews,
    source,
    state,
    table,
    visits,
)
from browser.watching import watched
from waypost.http.connections import Connections
from waypost.redirect import RedirectState, RouteOptions, new_route
from waypost.redirect.password_pages import OTHER_SITE

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

PASSWORD = "open sesame 🔑"
EVIL = "http://evil.test/"


@pytest_asyncio.fixture(loop_scope="session")
async def fast(state: RedirectState, connections: Connections, previews: Previews) -> Wire:
    """In the loop of the browser."""
    async with serve_fast(state, connections, previews) as wire:
        yield wire


@pytest.fixture(params=["go.test", "127.0.0.1"])
def url(request: pytest.FixtureRequest, fast: Wire, source: Routes) -> str:
    """Of a protected link. For a loopback address, Chromium sends `Sec-Fetch-Site`; without HTTPS, only `Origin`."""
    served = f"go.test:{fast.port}" if request.param == "go.test" else request.param  # only own hosts have ports
    protected = RouteOptions(None, 0, None, 3)
    source.routes[b"closed"] = new_route(served.encode(), DESTINATION, UUID(LINK.decode()), options=protected)
    source.routes[b"other"] = new_route(served.encode(), DESTINATION, UUID(int=7), options=protected)
    return f"http://{request.param}:{fast.port}/closed"


async def test_the_form_leads_to_the_destination_and_is_not_shown_again(
    chromium, url: str, ad_platforms: Platforms, visits
) -> None:
    visitor = await watched(chromium)
    await visitor.visit(f"{url}?utm_source=mail")
    await visitor.page.fill("input", PASSWORD)
    await visitor.page.press("input", "Enter")
    await visitor.page.wait_for_url(DESTINATION)
    [cookie] = await visitor.page.context.cookies()
    assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == ("/closed", True, "Lax")
    await visitor.page.goto(url)
    assert visitor.page.url == DESTINATION
    await visitor.page.goto(url.replace("closed", "other"))
    assert await visitor.page.locator("input").count() == 1
    assert [visit.referrer for visit in visits()] == [b"", b""]
    assert visitor.trouble == []


@pytest.mark.parametrize("sandbox", [False, True])
async def test_a_form_on_another_site_does_nothing(chromium, url: str, visits, sandbox: bool) -> None:
    visitor = await watched(chromium)
    form = f"<form method=post action={url}><input name=password value='{PASSWORD}'><button>Go</button></form>"
    headers = {"content-type": "text/html; charset=utf-8"}
    if sandbox:  # the form has `Origin: null`
        headers["content-security-policy"] = "sandbox allow-forms"
    await visitor.page.route(EVIL, lambda route: route.fulfill(body=form, headers=headers))
    await visitor.page.goto(EVIL)
    async with visitor.page.expect_navigation():
        await visitor.page.click("button")
    assert OTHER_SITE in await visitor.page.inner_text("p.error")
    assert await visitor.page.context.cookies() == []
    assert visits() == []
