"""How much an account may ask for in a minute, and what is left to it when its plan has ended."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, WebApp, open_place
from resources.clicks.visited import new_link
from resources.links.added import add_links
from sqlalchemy import select, update

from waypost import accounts
from waypost.accounts.keys import pages as key_pages
from waypost.accounts.model import api_keys
from waypost.resources.links.model import links
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.web.dashboard import session_auth

HOOK = {"url": "https://127.0.0.1:9443/hook", "event_types[]": ["link.created"]}
PIXEL = {"platform": "facebook", "name": "Spring", "pixel_id": "1234567890123456", "access_token": "t"}
HTMX = {"HX-Request": "true"}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, outbound_allow="127.0.0.0/8") as place:
        yield place


async def webhook(who: Browser) -> str:
    answer = await who.post("/webhooks/new", HOOK)
    return re.search(r'href="(/webhooks/[0-9a-f-]{36})"', answer.text)[1]


async def rows(place: WebApp, what: Any) -> list[Any]:
    async with place.db.read() as tx:
        return list(await tx.execute(select(what)))


async def test_each_account_has_its_own_budgets(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_auth, "_PAGES", 12)
    monkeypatch.setattr(session_auth, "_EXPENSIVE", 2)
    async with open_place(database_url, tmp_path, outbound_allow="127.0.0.0/8") as place:
        ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
        path = await webhook(ada)
        assert [(await ada.post(f"{path}/test")).status_code for _ in range(3)] == [303, 303, 429]
        assert len(await rows(place, webhook_deliveries)) == 2
        looks = [(await ada.post("/links/preview", {"destination_url": "http://10.0.0.1/"})).text for _ in range(3)]
        assert ["Too many previews" in look for look in looks] == [False, False, True]
        statuses = [(await ada.get("/account")).status_code for _ in range(6)]
        assert statuses == [200] * 5 + [429]  # seven were asked for above
        refused = await ada.get("/stats/live")
        assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
        assert (await bob.get("/account")).status_code == 200
        assert (await bob.post(f"{await webhook(bob)}/test")).status_code == 303


async def test_limits_the_keys_in_use(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_pages, "MAX_USABLE_KEYS", 2)
    monkeypatch.setattr(key_pages, "_PER_PAGE", 2)
    ada, all_, asked = await place.browser("ada@example.com"), "/integrations/api", {"scopes[]": "links:read"}
    for name in ("One", "Two"):
        assert (await ada.post(all_, asked | {"name": name})).status_code == 201
    refused = await ada.post(all_, asked | {"name": "Three"})
    assert (refused.status_code, "at most 2 usable keys" in refused.text, 'value="Three"' in refused.text) == (
        422,
        True,
        True,
    )
    assert ada.account
    two, one = await accounts.list_keys(place.db, ada.account.id)
    await ada.post(f"{all_}/{two.id}/revoke")
    assert (await ada.post(all_, asked | {"name": "Three"})).status_code == 201
    first, second = (await ada.get(all_)).text, (await ada.get(f"{all_}?page=2")).text
    assert [re.findall(r">(One|Two|Three)</a>", page) for page in (first, second)] == [["Three", "One"], ["Two"]]
    async with place.db.write() as tx:
        await tx.execute(update(api_keys).where(api_keys.c.id == one.id).values(expires_at=place.clock()))
    assert (await ada.post(all_, asked | {"name": "Four"})).status_code == 201  # one that has ended is not in use


async def test_a_lapsed_account_can_view_disable_and_delete(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    link = new_link(ada.account.id, slug="spring")
    async with place.db.write() as tx:
        await add_links(tx, [link])
    hook = await webhook(ada)
    delivery = (await ada.post(f"{hook}/test")).headers["location"]
    pixel = (await ada.post("/pixels/new", PIXEL)).headers["location"].partition("?")[0]
    domain = (await ada.post("/domains", {"hostname": "go.brand.test"})).headers["location"].partition("?")[0]
    await accounts.set_plan(place.db, ada.account.id, "none", now=place.clock(), trial_days=14)

    own = f"/links/{link.id}"
    for path in ("/", "/links", own, f"{own}/edit", f"{own}/qrcode", pixel, domain, hook, delivery, "/account/data"):
        assert (await ada.get(path)).status_code == 200, path
    before = await rows(place, links), await rows(place, webhook_deliveries)
    for path, fields, kept in (
        (f"{own}/edit", {"destination_url": "https://other.example/"}, "https://other.example/"),
        (f"{own}/qrcode", {"size": "300"}, 'value="300"'),
        (pixel, PIXEL | {"name": "Typed"}, "Typed"),
        (domain, {"root_url": "https://typed.example"}, "https://typed.example"),
        (f"{domain}/app-links", {"assetlinks": "[5]"}, "[5]"),
        (f"{own}/switch", {"status": "active"}, "/plan"),
        (f"{domain}/verify", {}, "/plan"),
        (f"{hook}/test", {}, "/plan"),
        (f"{delivery}/redeliver", {}, "/plan"),
    ):
        refused = await ada.post(path, fields)
        reported = "no active plan" in refused.text or "your plan is not active" in refused.text
        assert (refused.status_code, reported, kept in refused.text) == (402, True, True), path
    assert (await ada.post(f"{domain}/verify", headers=HTMX)).headers["hx-redirect"] == "/plan?done=refused"
    assert "no active plan" in (await ada.post("/links/preview", {"destination_url": "http://127.0.0.1/"})).text
    assert (await rows(place, links), await rows(place, webhook_deliveries)) == before

    assert (await ada.post(f"{own}/switch", {"status": "inactive"})).status_code == 303
    assert [row.is_enabled for row in await rows(place, links)] == [False]
    for path in (own, pixel, domain, hook):
        assert (await ada.post(f"{path}/delete")).status_code == 303, path
        assert (await ada.get(path)).status_code == 404, path
