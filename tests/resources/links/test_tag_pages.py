"""HTML pages of tags, and their colors on other pages."""

import re
from html import unescape
from uuid import UUID

import pytest
from browsing import Browser, WebApp
from resources.clicks.visited import new_link
from resources.links.added import add_links

from waypost.resources.links.bulk import changes
from waypost.resources.links.store import find


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


async def add(place: WebApp, browser: Browser, slug: str, *tags: str) -> UUID:
    assert browser.account
    link = new_link(browser.account.id, slug=slug, tags=list(tags))
    async with place.db.write() as tx:
        await add_links(tx, [link])
    return link.id


async def tags_of(place: WebApp, browser: Browser, link: UUID) -> list[str]:
    assert browser.account
    async with place.db.read() as tx:
        found = await find(tx, browser.account.id, link)
    assert found
    return found.tags


async def path_of(browser: Browser, name: str) -> str:
    """The page of the tag."""
    row = next(row for row in (await browser.get("/tags")).text.split("<tr>") if f">{name}</span>" in row)
    return re.findall(r'"(/tags/[0-9a-f-]{36})"', row)[0]


async def test_creates_lists_and_searches_tags(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert "No tags yet" in (await ada.get("/tags")).text
    created = await ada.post("/tags/new", {"name": " <b>spring</b> ", "color": "green"})
    assert (created.status_code, created.headers["location"]) == (303, "/tags?done=tag-created")
    await add(place, ada, "a", "50%", "<b>spring</b>", "-x", "none")
    page = (await ada.get("/tags")).text
    assert ("&lt;b&gt;spring&lt;/b&gt;" in page, "<b>spring" in page) == (True, False)
    assert 'class="badge tag green"' in page
    assert '"/links?tag=50%25"' in page
    for url in ("/stats?tag=50%25", "/stats?tag=%5C-x", "/stats?tag=%5Cnone", "/links?tag=-x"):
        assert f'href="{url}"' in page, url
    assert "Tag is -x" in words((await ada.get("/stats?tag=%5C-x")).text)
    assert "spring" not in words((await ada.get("/tags?search=%25")).text)
    assert "No tag found" in (await ada.get("/tags?search=nothing")).text
    assert "No tags on this page" in (await ada.get("/tags?page=9")).text
    refused = await ada.get("/tags?search=" + "x" * 256)
    assert (refused.status_code, "at most 255 characters" in refused.text) == (422, True)
    for fields in ({"name": "50%"}, {"name": ""}, {"name": "a\x00b"}, {"name": "new", "color": "mauve"}):
        answer = await ada.post("/tags/new", fields)
        assert (answer.status_code, 'class="error"' in answer.text) == (422, True), fields


async def test_renames_and_merges_with_a_question(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await add(place, ada, "a", "x", "old")
    path = await path_of(ada, "old")
    assert 'value="old"' in (await ada.get(path)).text
    answer = await ada.post(path, {"name": "new", "color": "red"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/tags?done=saved")
    assert await tags_of(place, ada, link) == ["x", "new"]
    for wrong in ("", "a\x00b"):
        assert (await ada.post(path, {"name": wrong})).status_code == 422
    question = await ada.post(path, {"name": "x", "color": "red"})
    assert (question.status_code, "Merge new into x?" in words(question.text)) == (200, True)
    assert await tags_of(place, ada, link) == ["x", "new"]
    assert (await ada.post(path, {"name": "x", "merge": "1"})).status_code == 303
    assert await tags_of(place, ada, link) == ["x"]
    assert (await ada.get(path)).status_code == 404


async def test_deletes_with_a_question(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await add(place, ada, "a", "x", "y")
    path = await path_of(ada, "x")
    assert "The tag is removed from 1 link, which keeps working." in words((await ada.get(f"{path}/delete")).text)
    answer = await ada.post(f"{path}/delete")
    assert (answer.status_code, answer.headers["location"]) == (303, "/tags?done=tag-deleted")
    assert await tags_of(place, ada, link) == ["y"]


async def test_shows_that_links_are_being_changed(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_NOW", 0)
    ada = await place.browser("ada@example.com")
    await add(place, ada, "a", "old", "other")
    path = await path_of(ada, "old")
    assert (await ada.post(path, {"name": "new", "color": "gray"})).status_code == 303
    page = (await ada.get("/tags")).text
    progress = re.findall(r'"(/links/bulk/[0-9a-f-]{36})"', page)[0]
    shown = (await ada.get(progress)).text
    assert ("0 of 1 links done" in shown, "Cancel" in shown) == (True, False)
    refused = await ada.post(await path_of(ada, "other"), {"name": "another", "color": "gray"})
    assert (refused.status_code, "Another change of many links is running." in refused.text) == (422, True)
    refused = await ada.post(f"{path}/delete")
    assert (refused.status_code, "Another change of many links is running." in refused.text) == (422, True)


async def test_colors_are_shown_where_tags_are(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await add(place, ada, "a", "mail", "zzz")
    await ada.post(await path_of(ada, "mail"), {"name": "mail", "color": "violet"})
    vera = await place.member("vera@example.com", ada.account, "viewer")  # type: ignore[arg-type]
    for browser, path in (
        (ada, "/links"),
        (ada, f"/links/{link}"),
        (ada, f"/links/{link}/edit"),
        (vera, f"/links/{link}/edit"),
    ):
        page = (await browser.get(path)).text
        assert re.search(r'class="badge (check )?tag violet"[^>]*>(<[^>]+>)*mail', page), path
        assert re.search(r'class="badge (check )?tag gray"[^>]*>(<[^>]+>)*zzz', page), path
    page = (await vera.get("/tags")).text
    assert ("mail" in page, "/tags/new" in page, "Edit mail" in page) == (True, False, False)
