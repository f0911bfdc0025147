"""The operator's pages: who may see them, accounts, suspension, reports and links."""

from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from browser.hostile import TEXTS
from browsing import SAME_ORIGIN, Browser, WebApp
from people import Person, new_key
from resources.operator.test_suspension import DESTINATION, add_link
from sqlalchemy import update

from waypost.accounts import operators
from waypost.accounts.members import store as memberships
from waypost.accounts.model import accounts
from waypost.kit.errors import NotFound
from waypost.kit.ids import new_id
from waypost.redirect.report_pages import LinkReport
from waypost.resources.links.model import links
from waypost.resources.operator.account_pages import AccountPages
from waypost.resources.operator.link_pages import OperatorPages
from waypost.resources.reports import store as reports

REASON = {"reason": "Phishing"}
NOT_FOUND = "The resource does not exist, or you do not have access to it."


async def operator(place: WebApp, email: str = "root@example.com") -> Browser:
    browser = await place.browser(email)
    await operators.set_operator(place.db, email, place.clock(), is_operator=True)
    return browser


async def key(place: WebApp, browser: Browser) -> Person:
    assert browser.account
    return await new_key(place.db, browser.account.id, now=place.clock())


async def report(place: WebApp, browser: Browser, link: UUID, text: str = "It looks like my bank", **more: str) -> None:
    assert browser.account
    sent = LinkReport(more.get("reason", "phishing"), text, more.get("email", ""))
    async with place.db.write() as tx:
        await reports.add(tx, link, browser.account.id, sent, place.clock())


def routes(id_: UUID) -> list[tuple[str, str]]:
    """All of the operator's pages, with an id."""
    pages = [
        *AccountPages.endpoints(AccountPages(*[None] * 3)),
        *OperatorPages.endpoints(OperatorPages(*[None] * 3)),
    ]  # type: ignore[arg-type]
    return [(method, page.path.format(id=id_)) for page in pages for method in page.methods or () if method != "HEAD"]


async def test_there_are_no_such_pages_for_others(place: WebApp) -> None:
    ada, nobody = await place.browser("ada@example.com"), await place.browser()
    assert ada.account
    link = await add_link(place.db, await key(place, ada), "a")
    for id_ in (ada.account.id, link, new_id()):
        for method, path in routes(id_):
            answer = await ada.client.request(method, path, headers=SAME_ORIGIN, data=REASON)
            assert (answer.status_code, NOT_FOUND in answer.text) == (404, True), path
            answer = await nobody.client.request(method, path, headers=SAME_ORIGIN, data=REASON)
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login")
    assert "/operator" not in (await ada.get("/")).text
    assert (await ada.get("/links")).status_code == 200, "nothing has changed"


async def test_an_operator_who_is_removed_sees_nothing_more(place: WebApp) -> None:
    root = await operator(place)
    assert 'href="/operator"' in (await root.get("/links")).text
    assert (await root.get("/operator")).status_code == 200
    await operators.set_operator(place.db, "root@example.com", place.clock(), is_operator=False)
    assert (await root.get("/operator")).status_code == 404
    with pytest.raises(NotFound):
        await operators.set_operator(place.db, "nobody@example.com", place.clock(), is_operator=True)


async def test_lists_searches_and_sorts_accounts(place: WebApp) -> None:
    root = await operator(place)
    for number in range(30):
        place.clock.move(timedelta(minutes=1))
        await place.browser(f"user{number:02}@example.com")
    async with place.db.write() as tx:
        await tx.execute(update(accounts).where(accounts.c.email == "user07@example.com").values(links_count=7))
        await tx.execute(update(accounts).where(accounts.c.email == "user08@example.com").values(name="100% Ünï_x"))

    async def emails(query: str) -> list[str]:
        page = (await root.get(f"/operator{query}")).text
        return [part.partition("<")[0] for part in page.split('<td><a href="/operator/accounts/')[1:]]

    async def listed(query: str) -> list[str]:
        return [each.partition('">')[2] for each in await emails(query)]

    newest = await listed("")
    assert newest == [f"user{number:02}@example.com" for number in range(29, 4, -1)]
    page = (await root.get("/operator")).text
    assert 'rel="next"' in page
    following = unescape(page.partition('href="/operator?after=')[2].partition('"')[0])
    assert await listed(f"?after={following}") == [
        *(f"user{n:02}@example.com" for n in range(4, -1, -1)),
        "root@example.com",
    ]
    assert (await listed("?sort=email"))[:2] == ["root@example.com", "user00@example.com"]
    assert (await listed("?sort=links"))[0] == "user07@example.com"
    assert await listed("?search=USER07") == ["user07@example.com"]
    assert await listed("?search=100%25") == ["user08@example.com"]
    assert await listed("?search=r_0") == [], "no wildcards"
    assert await listed("?suspended=1") == []
    assert await listed("?search=%00%27%22%3Cb%3E&sort=drop&after=x") == []


async def test_keyset_pages_have_each_account_once(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.resources.operator.account_pages._PER_PAGE", 2)
    root = await operator(place)
    for number in range(6):  # at the same time, with as many links
        await place.browser(f"user{number}@example.com")
    for sort in ("newest", "email", "links"):
        seen, url = [], f"/operator?sort={sort}"
        while url:
            page = (await root.get(url)).text
            seen += [
                part.partition('">')[2].partition("<")[0] for part in page.split('<td><a href="/operator/accounts/')[1:]
            ]
            before, link, _ = page.partition('" rel="next"')
            url = unescape(before.rpartition('href="')[2]) if link else ""
        assert len(seen) == len(set(seen)) == 7


async def test_suspends_and_resumes_an_account(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    assert ada.account
    url, ada_key = f"/operator/accounts/{ada.account.id}", await key(place, ada)
    await add_link(place.db, ada_key, "sale")
    page = (await root.get(url)).text
    assert all(text in page for text in ("ada@example.com", "owner", "Suspend account", "Clicks in 30 days"))
    assert (await root.post(f"{url}/suspend", {"reason": ""})).status_code == 422
    assert (await ada.get("/")).status_code == 200
    answer = await root.post(f"{url}/suspend", {"reason": "Phishing <b>"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{url}?done=suspended")
    assert "Phishing &lt;b&gt;" in (await root.get(url)).text
    assert "ada@example.com" in (await root.get("/operator?suspended=1")).text
    assert (await ada.client.get("/sale", headers={"Host": "go.test"})).status_code == 404
    refused = await ada.client.get("/api/v1/links", headers=ada_key.headers)
    assert refused.status_code == 403
    assert (await root.post(f"{url}/resume", REASON)).status_code == 303
    assert (await ada.client.get("/sale", headers={"Host": "go.test"})).status_code == 302
    assert (await ada.client.get("/api/v1/links", headers=ada_key.headers)).status_code == 200
    assert (await ada.get("/links")).status_code == 200


async def test_members_of_a_suspended_account_can_export_and_sign_out(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    assert ada.account
    await root.post(f"/operator/accounts/{ada.account.id}/suspend", REASON)
    for path in ("/", "/links", "/links/new", "/domains", "/pixels", "/webhooks", "/integrations/api", "/plan"):
        answer = await ada.get(path)
        assert answer.status_code == 403, path
        assert "Account suspended" in answer.text
        assert "This account is suspended: Phishing. Contact abuse@example.com." in unescape(answer.text)
        assert 'href="/account/data"' in answer.text
    refused = await ada.post("/links/new", {"destination_url": "https://example.com"})
    assert refused.status_code == 403
    for path in ("/account", "/account/security", "/account/sessions", "/account/data"):
        assert (await ada.get(path)).status_code == 200, path
    exported = await ada.post("/account/data/export")
    assert (exported.status_code, exported.headers["content-type"]) == (200, "application/zip")
    assert (await ada.post("/account/delete", {"current_password": "x"})).status_code == 403
    assert (await ada.post("/logout")).status_code == 303


async def test_members_see_their_other_accounts(place: WebApp) -> None:
    root, ada, bob = [await operator(place), *[await place.browser(f"{who}@example.com") for who in ("ada", "bob")]]
    assert ada.account
    assert bob.account
    assert ada.person
    async with place.db.write() as tx:
        await memberships.add(tx, bob.account.id, ada.person.id, "viewer", place.clock())
    await root.post(f"/operator/accounts/{ada.account.id}/suspend", REASON)
    assert (await ada.get("/links")).status_code == 403
    assert (await ada.post(f"/account/accounts/{bob.account.id}")).status_code == 303
    assert (await ada.get("/links")).status_code == 200


async def test_an_operator_of_a_suspended_account_can_resume_it(place: WebApp) -> None:
    root = await operator(place)
    assert root.account
    url = f"/operator/accounts/{root.account.id}"
    await root.post(f"{url}/suspend", REASON)
    assert (await root.get("/links")).status_code == 403
    assert (await root.post(f"{url}/resume", REASON)).status_code == 303
    assert (await root.get("/links")).status_code == 200


async def test_changes_need_a_recent_sign_in(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    assert ada.account
    link = await add_link(place.db, await key(place, ada), "a")
    await report(place, ada, link)
    place.clock.move(timedelta(minutes=11))
    for id_ in (ada.account.id, link):
        for method, path in routes(id_):
            if method == "POST":
                answer = await root.post(path, REASON)
                assert answer.status_code == (422 if (id_ == link) == ("/links/" in path) else 404), path
    assert (await ada.get("/links")).status_code == 200
    page = await root.get("/operator/reports")
    assert page.status_code == 200
    assert "go.test/a" in page.text


async def test_reports_are_read_and_closed(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    ada_key = await key(place, ada)
    link, other = await add_link(place.db, ada_key, "a"), await add_link(place.db, ada_key, "b")
    assert "No open reports" in (await root.get("/operator/reports")).text
    await report(place, ada, link, email="eve@example.com")
    await report(place, ada, link, reason="spam", text="")
    await report(place, ada, other)
    page = (await root.get("/operator/reports")).text
    assert all(text in page for text in ("go.test/a", "go.test/b", "phishing 1", "spam 1", "ada@example.com"))
    assert f'href="{DESTINATION}"' not in page
    url = f"/operator/links/{link}"
    shown = (await root.get(url)).text
    assert all(text in shown for text in ("2 open reports", "It looks like my bank", "eve@example.com", DESTINATION))
    assert f'href="{DESTINATION}"' not in shown
    assert (await root.post(f"{url}/disable", {"reason": ""})).status_code == 422
    assert (await root.post(f"{url}/disable", REASON)).headers["location"] == f"{url}?done=disabled"
    assert "Disabled by the operator: Phishing" in (await root.get(url)).text
    assert (await ada.client.get("/a", headers={"Host": "go.test"})).status_code == 404
    for path in (f"/links/{link}", f"/links/{link}/edit", f"/links/{link}/qrcode", f"/links/{link}/routing"):
        assert "Disabled by the operator: Phishing" in (await ada.get(path)).text
    rows = (await ada.get("/links")).text
    assert "Disabled by the operator" in rows
    assert (await ada.post(f"/links/{link}/switch", {"status": "active"})).status_code == 422
    assert (await root.post(f"/operator/links/{other}/dismiss", REASON)).status_code == 303
    assert "No open reports" in (await root.get("/operator/reports")).text
    assert (await root.post(f"{url}/enable", REASON)).status_code == 303
    assert (await ada.client.get("/a", headers={"Host": "go.test"})).status_code == 302


async def test_finds_links_by_short_url(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    link = await add_link(place.db, await key(place, ada), "sale")
    for url in ("go.test/sale", "https://go.test/sale", "http://go.test:8000/sale+", "sale", " go.test/sale?a=1 "):
        answer = await root.get("/operator/links", params={"url": url})
        assert (answer.status_code, answer.headers.get("location")) == (303, f"/operator/links/{link}"), url
    for url in ("", "go.test", "https://[", "nothing", "go.test/Sale", "\0", "x" * 3_000, "ü"):
        answer = await root.get("/operator/links", params={"url": url})
        assert answer.status_code == 422, url
        assert "There is no link with this short URL." in answer.text


async def test_deleted_links_and_accounts(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    assert ada.account
    link = await add_link(place.db, await key(place, ada), "a")
    await report(place, ada, link)
    async with place.db.write() as tx:
        await tx.execute(update(links).values(deleted_at=place.clock()))
        await tx.execute(update(accounts).where(accounts.c.id == ada.account.id).values(deleted_at=place.clock()))
    assert "Deleted by its owner" in (await root.get("/operator/reports")).text
    for path in (f"/operator/links/{link}", f"/operator/accounts/{ada.account.id}"):
        assert (await root.get(path)).status_code == 404
    assert (await root.post(f"/operator/accounts/{ada.account.id}/suspend", REASON)).status_code == 404


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_texts_of_others_stay_texts(place: WebApp) -> None:
    root, ada = await operator(place), await place.browser("ada@example.com")
    assert ada.account
    link = await add_link(place.db, await key(place, ada), "a")
    for text in TEXTS.values():
        await report(place, ada, link, text=text[:1_000])
        async with place.db.write() as tx:
            await tx.execute(update(links).values(title=text))
            await tx.execute(update(accounts).where(accounts.c.id == ada.account.id).values(name=text[:255]))
    for path in ("/operator", "/operator/reports", f"/operator/links/{link}", f"/operator/accounts/{ada.account.id}"):
        page = (await root.get(path)).text
        for text in TEXTS.values():
            if "<" in text:
                assert text[:100] not in page
