"""A link's addresses in the dashboard, and visits of them in the whole application."""

import re

from browsing import Browser, WebApp
from domains import domain
from resources.links.env import Website

NAME = "go.brand.test"


async def make(who: Browser, site: Website) -> str:
    """The path of a link's page."""
    answer = await who.post("/links/new", {"destination_url": site.url(), "slug": "main"})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].partition("?")[0]


async def visit(who: Browser, path: str) -> str | int:
    """The location, or the status of an answer that has none."""
    answer = await who.get(path, headers={"Host": NAME})
    return answer.headers.get("location", answer.status_code)


async def test_adds_visits_finds_and_deletes_an_address(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    link = await make(ada, site)
    page = await ada.get(f"{link}/addresses")
    assert "Add domain" in page.text
    assert "new-address" not in page.text
    others, tab = [f"{link}{name}" for name in ("", "/qrcode", "/routing", "/edit")], f'<a href="{link}/addresses"'
    assert [tab in (await ada.get(path)).text for path in others] == [False] * 4
    assert ada.account
    await domain(place.db, ada.account.id, NAME)
    assert [tab in (await ada.get(path)).text for path in others] == [True] * 4
    assert await visit(ada, "/summer/%F0%9F%98%80") == 404
    answer = await ada.post(f"{link}/addresses", {"hostname": NAME, "path": "summer/😀"})
    assert answer.headers["location"] == f"{link}/addresses?done=address-added"
    page = await ada.get(answer.headers["location"])
    assert "Address added." in page.text
    assert f'href="http://{NAME}/summer/%F0%9F%98%80"' in page.text
    for _ in range(2):
        assert await visit(ada, "/summer/%F0%9F%98%80") == site.url()
    assert "app.test/main" in (await ada.get("/links?search=SUMMER/")).text
    question = re.findall(rf'{link}/addresses/[^"]+/delete', page.text)[0]
    assert "summer/😀?" in (await ada.get(question)).text
    assert (await ada.post(question)).headers["location"] == f"{link}/addresses?done=address-deleted"
    assert await visit(ada, "/summer/%F0%9F%98%80") == 404
    assert "No other addresses" in (await ada.get(f"{link}/addresses")).text


async def test_follows_the_link(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    link = await make(ada, site)
    assert ada.account
    await domain(place.db, ada.account.id, NAME)
    await ada.post(f"{link}/addresses", {"hostname": NAME, "path": "sale"})
    assert await visit(ada, "/sale") == site.url()
    await ada.post(f"{link}/edit", {"destination_url": site.url(), "slug": "renamed", "title": "x"})
    assert await visit(ada, "/sale") == site.url()
    await ada.post(f"{link}/switch", {"status": "inactive"})
    assert await visit(ada, "/sale") == 404
    await ada.post(f"{link}/switch", {"status": "active"})
    assert await visit(ada, "/sale") == site.url()
    preview = await ada.get("/sale", headers={"Host": NAME, "User-Agent": "facebookexternalhit/1.1"})
    assert '<meta property="og:url" content="http://app.test/renamed">' in preview.text
    await ada.post(f"{link}/delete")
    assert await visit(ada, "/sale") == 404


async def test_a_disabled_slug_is_not_replaced_by_an_alias(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    link = await make(ada, site)
    assert ada.account
    await domain(place.db, ada.account.id, NAME)
    other = {"destination_url": site.url("/page?own"), "slug": "sale", "hostname": NAME}
    own = (await ada.post("/links/new", other)).headers["location"].partition("?")[0]
    await ada.post(f"{link}/addresses", {"hostname": NAME, "path": "sale"})
    assert await visit(ada, "/sale") == site.url("/page?own")
    await ada.post(f"{own}/switch", {"status": "inactive"})
    assert await visit(ada, "/sale") == 404
    await ada.post(f"{own}/delete")
    assert await visit(ada, "/sale") == site.url()


async def test_refuses_what_the_api_refuses(place: WebApp, site: Website) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    link = await make(ada, site)
    assert ada.account
    await domain(place.db, ada.account.id, NAME)
    answer = await ada.post(f"{link}/addresses", {"hostname": NAME, "path": "/sale"})
    assert answer.status_code == 422
    assert "This must not begin with a slash." in answer.text
    assert 'value="/sale"' in answer.text
    for path in ("addresses", "addresses/x/delete"):
        assert (await bob.get(f"{link}/{path}")).status_code == 404
        assert (await bob.post(f"{link}/{path}", {"hostname": NAME, "path": "a"})).status_code == 404
    eve = await place.browser("eve@example.com", plan="none")
    assert (await eve.post(f"{link}/addresses", {"hostname": NAME, "path": "a"})).status_code == 404
