"""HTML pages of pixels."""

import json
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from browsing import Browser, WebApp, open_place
from resources.clicks.visited import new_link
from resources.links.added import add_links
from sqlalchemy import insert, select

from waypost.database import KeyRing
from waypost.resources.pixels.events.model import EventResults, PageView, add_results, pixel_events
from waypost.resources.pixels.model import link_pixels, pixels

NEW = {"platform": "facebook", "name": "Spring", "pixel_id": "1234567890123456", "access_token": "EAAB"}


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def add(browser: Browser, **fields: str) -> str:
    """Its path."""
    answer = await browser.post("/pixels/new", NEW | fields)
    assert answer.status_code == 303, answer.text
    assert "Pixel created." in (await browser.get(answer.headers["location"])).text
    return answer.headers["location"].partition("?")[0]


async def row(place: WebApp, path: str) -> Any:
    async with place.db.read() as tx:
        return (await tx.execute(select(pixels).where(pixels.c.id == _id(path)))).one_or_none()


def _id(path: str) -> UUID:
    return UUID(path.rpartition("/")[2])


def words(html: str) -> str:
    return " ".join(unescape(html).split())


async def test_creates_and_shows_a_pixel(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert "No pixels yet" in (await ada.get("/pixels")).text
    form = words((await ada.get("/pixels/new")).text)
    for reported in ("15 or 16 digits", "Meta Events Manager", "with or without AW-", "accepts no events from servers"):
        assert reported in form
    path = await add(ada, name="<b>Spring</b>")
    for page in (await ada.get(path), await ada.get("/pixels")):
        assert ("&lt;b&gt;Spring&lt;/b&gt;" in page.text, "<b>Spring" in page.text) == (True, False)
        assert not {text for text in (NEW["pixel_id"], NEW["access_token"]) if f'"{text}"' in page.text}
    assert ada.account
    async with place.db.write() as tx:
        links = [new_link(ada.account.id, slug=slug) for slug in ("a", "b")]
        for link in links:
            await add_links(tx, [link])
            await tx.execute(insert(link_pixels).values(link_id=link.id, position=0, pixel_id=_id(path)))
    other = await add(ada, platform="google_ads", pixel_id="AW-123456789", access_token="")
    assert "this pixel fires only in the visitor's browser" in words((await ada.get(other)).text)
    listed = words((await ada.get("/pixels")).text)
    assert ("2 links" in listed, "0 links" in listed, "Google Ads" in listed) == (True, True, True)
    assert "The pixel fires on 2 links." in words((await ada.get(path)).text)


async def test_sends_a_test_event(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    answer = await ada.post(f"{path}/test")
    async with place.db.read() as tx:
        (event,) = (await tx.execute(select(pixel_events))).all()
    assert answer.headers["location"] == f"{path}?event={event.id}&done=pixel-tested"
    page = (await ada.get(answer.headers["location"])).text
    assert f'hx-get="{path}?event={event.id}"' in page
    assert "Test event sent." in page
    for quiet in (f"{path}?done=saved", f"{await add(ada)}?event={event.id}"):
        assert "hx-trigger" not in (await ada.get(quiet)).text
    place.clock.move(timedelta(minutes=1))
    assert "hx-trigger" not in (await ada.get(answer.headers["location"])).text, "a platform may not answer for long"
    place.clock.move(-timedelta(minutes=1))
    view = PageView(*json.loads(event.payload))
    assert (event.pixel_id, view.url, view.at) == (_id(path), place.settings.base_url, int(place.clock().timestamp()))
    plain = await add(ada, access_token="")
    assert "Send test event" not in (await ada.get(plain)).text
    refused = await ada.post(f"{plain}/test")
    assert refused.status_code == 422


async def test_what_became_of_its_events_is_told(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    assert "No events yet." in (await ada.get(path)).text
    now = place.clock()
    reason = "facebook answered 401: <script>alert(1)</script>"
    async with place.db.write() as tx:
        said = EventResults(12_345, 3, 1, now - timedelta(days=3), reason, now - timedelta(minutes=4))
        await add_results(tx, _id(path), said)
    page = (await ada.get(path)).text
    for reported in ("12.3k", "3 days ago", "4 minutes ago", "facebook answered 401: &lt;script&gt;"):
        assert reported in page
    assert "<script>alert" not in page


async def test_says_whether_there_is_a_usable_access_token(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)

    async def state() -> str:
        page = words((await ada.get(path)).text)
        assert NEW["access_token"] not in page
        return page.partition("<dt>Access token</dt><dd>")[2].partition("</dd>")[0]

    assert await state() == "Saved"
    token = KeyRing(["another key"]).encrypt(pixels.c.access_token, _id(path), NEW["access_token"])
    for value, shown in ((token, "Cannot be decrypted, because"), (None, "None, so no server-side events are sent")):
        async with place.db.write() as tx:
            await tx.execute(pixels.update().values(access_token=value))
        assert (await state()).startswith(shown)
    path = await add(ada, platform="google_ads", pixel_id="AW-123456789", access_token="")
    assert await state() == ""


async def test_a_doubtful_id_is_asked_about_once(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    typed = NEW | {"platform": "google_ads", "pixel_id": "GTM-123456"}
    asked = await ada.post("/pixels/new", typed)
    assert (asked.status_code, "does not look like a Google Ads pixel ID" in asked.text) == (422, True)
    assert all(f'value="{text}"' in asked.text for text in typed.values())
    sure = await ada.post("/pixels/new", typed | {"sure": "yes"})
    assert sure.status_code == 303
    path = sure.headers["location"].partition("?")[0]
    before = await row(place, path)
    asked = await ada.post(path, {"platform": "google_ads", "name": "Spring", "pixel_id": "GTM container"})
    assert (asked.status_code, "does not look like" in asked.text, await row(place, path)) == (422, True, before)


async def test_secrets_left_blank_stay(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    before = await row(place, path)
    blank = {"platform": "facebook", "name": "Summer", "pixel_id": "", "access_token": ""}
    assert (await ada.post(path, blank)).headers["location"] == f"{path}?done=saved"
    after = await row(place, path)
    assert (after.name, after.pixel_id, after.access_token) == ("Summer", before.pixel_id, before.access_token)
    await ada.post(path, blank | {"pixel_id": "6543210987654321", "forget_token": "yes"})
    after = await row(place, path)
    assert (after.pixel_id != before.pixel_id, after.access_token) == (True, None)


async def test_faults_are_beside_their_fields_and_what_was_typed_is_kept(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com", plan="none")
    path = await add(ada)
    typed = {"platform": "myspace", "name": "", "pixel_id": "", "access_token": 'a "token"'}
    refused = await ada.post("/pixels/new", typed)
    assert (refused.status_code, refused.text.count('class="error"')) == (422, 4)
    assert typed["access_token"] in unescape(refused.text)
    refused = await ada.post(path, typed | {"platform": "tiktok", "pixel_id": "x"})
    assert (refused.status_code, "This must not be blank." in refused.text) == (422, True)
    assert 'value="tiktok" aria-describedby="about-tiktok" checked' in refused.text
    assert (await row(place, path)).platform == "facebook"
    unpaid = await bob.post("/pixels/new", NEW)
    assert (unpaid.status_code, "no active plan" in unpaid.text, NEW["pixel_id"] in unpaid.text) == (402, True, True)


async def test_it_is_deleted_after_its_consequences_are_told(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    async with place.db.write() as tx:
        await tx.execute(insert(link_pixels).values(link_id=uuid4(), position=0, pixel_id=_id(path)))
    for page in (await ada.get(path), await ada.get(f"{path}/delete")):
        assert "The pixel stops firing on 1 link, which keeps working." in words(page.text)
        assert f'action="{path}/delete"' in page.text
    gone = await ada.post(f"{path}/delete")
    assert (gone.status_code, await row(place, path)) == (303, None)
    assert (await ada.get(path)).status_code == 404
    assert "Pixel deleted." in (await ada.get(gone.headers["location"])).text


async def test_it_is_its_owner_s_alone_and_changed_only_from_pages_of_ours(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path = await add(ada)
    for each in (path, f"/pixels/{uuid4()}", "/pixels/1"):
        answers = [await bob.get(each), await bob.get(f"{each}/delete")]
        answers += [await bob.post(each, NEW), await bob.post(f"{each}/delete")]
        assert [answer.status_code for answer in answers] == [404] * 4
    assert "Spring" not in (await bob.get("/pixels")).text
    before = await row(place, path)
    for each in ("/pixels/new", path, f"{path}/delete"):
        answer = await ada.client.post(each, data=NEW, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403
    assert await row(place, path) == before
