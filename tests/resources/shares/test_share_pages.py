"""The dashboard's pages of shares."""

import re
from html import unescape

from browsing import WebApp
from resources.clicks.test_dashboard import words
from resources.clicks.test_explore import href_of
from resources.shares.asking import new_sharer


async def test_shares_a_view(place: WebApp) -> None:
    ada = await new_sharer(place)
    link = await ada.link(slug="spring")
    assert "No shares yet" in (await ada.browser.get("/shares")).text
    page = await ada.browser.get(
        f"/stats?period=custom&from=2029-12-01&to=2029-12-31&country=-DE&tag=a,b&link_id={link.id}"
    )
    form = await ada.browser.get(href_of(page.text, "Share this view"))
    for text in ("Country is not Germany", "Tag is a,b", "Link is app.test/spring"):
        assert text in words(form.text), text
    fields = {
        name: unescape(value)
        for name, value in re.findall(r'<input [^>]*name="(\w+)"[^>]*? value="([^"]*)"', form.text)
    }
    assert (fields["from"], fields["to"]) == ("2029-12-01T00:00", "2030-01-01T00:00")
    filters = [unescape(value) for value in re.findall(r'name="filters\[\]" value="([^"]*)"', form.text)]
    sent = await ada.browser.post("/shares/new", {**fields, "name": "For Bob", "filters[]": filters})
    assert sent.status_code == 303, sent.text
    (share,) = (await ada.ask("GET")).json()["data"]
    assert share["filters"] == {"country": ["-DE"], "link_id": [str(link.id)], "tag": ["a,b"]}
    assert (share["from"], share["to"]) == ("2029-12-01T00:00:00.000000Z", "2030-01-01T00:00:00.000000Z")
    made = await ada.browser.get(sent.headers["location"])
    assert "Share created." in made.text
    assert f'data-copy="{share["url"]}"' in made.text
    of_link = await ada.browser.get(
        href_of((await ada.browser.get(f"/links/{link.id}?device=mobile")).text, "Share this view")
    )
    assert "Statistics of app.test/spring" in words(of_link.text)
    assert "Device is Mobile" in words(of_link.text)
    assert (await ada.browser.get("/shares/new?link=01a1fbb2-2855-72ee-8e77-c161c4205e89")).status_code == 404


async def test_changes_and_deletes(place: WebApp) -> None:
    ada = await new_sharer(place)
    share = await ada.share(
        tag="sale", filters={"country": ["DE", "AT"]}, password="open sesame", expires_at="2030-06-01"
    )
    path = f"/shares/{share['id']}"
    fields = {
        "name": "May", "tag": "sale", "filters[]": ["country=DE"], "hide_below": "5", "expires_at": "2030-06-01T00:00",
        "embed_origins": "https://a.example\r\nhttps://b.example", "password": "", "from": "", "to": "",
    }  # fmt: skip
    assert (await ada.browser.post(path, fields)).status_code == 303
    changed = (await ada.ask("GET", f"/{share['id']}")).json()["data"]
    assert (changed["name"], changed["filters"], changed["hide_below"]) == ("May", {"country": ["DE"]}, 5)
    assert (changed["embed_origins"], changed["has_password"]) == (["https://a.example", "https://b.example"], True)
    page = await ada.browser.get(path)
    assert f"&lt;iframe src=&#34;{changed['embed_url']}&#34;" in page.text
    assert "open sesame" not in page.text
    await ada.browser.post(path, {**fields, "remove_password": "yes"})
    assert (await ada.ask("GET", f"/{share['id']}")).json()["data"]["has_password"] is False
    refused = await ada.browser.post(
        path, {**fields, "name": "", "hide_below": "x", "from": "never", "embed_origins": "x"}
    )
    assert refused.status_code == 422
    assert refused.text.count('class="field invalid"') == 4
    listed = words((await ada.browser.get("/shares")).text)
    assert "May Links tagged sale Filters Hides fewer than 5 No password Embedded expires in" in listed
    assert (await ada.browser.post(f"{path}/delete")).headers["location"] == "/shares?done=share-deleted"
    assert (await ada.browser.get(path)).status_code == 404


async def test_names_no_links_of_others(place: WebApp) -> None:
    ada, bob = await new_sharer(place), await new_sharer(place, "bob")
    link = await ada.link(slug="secret")
    for path, status in (
        (f"/shares/new?link_id={link.id}", 200),
        (f"/shares/new?link_id=-{link.id}", 200),
        (f"/shares/new?link={link.id}", 404),
        (f"/stats?link_id={link.id}", 404),
        (f"/stats?link_id=-{link.id}", 404),
        (f"/stats?country=DE&link_id={link.id}", 404),
    ):
        page = await bob.browser.get(path)
        assert (page.status_code, "secret" in page.text) == (status, False), path
    refused = await bob.browser.post("/shares/new", {"link_id": str(link.id), "filters[]": [f"link_id={link.id}"]})
    assert (refused.status_code, "secret" in refused.text) == (422, False)
    shared = (await bob.share())["url"].removeprefix("http://app.test")
    for value in (link.id, f"-{link.id}"):
        assert "secret" not in (await (await place.browser()).get(f"{shared}?link_id={value}")).text


async def test_viewers_see_no_urls(place: WebApp) -> None:
    ada = await new_sharer(place)
    share = await ada.share()
    vera = await place.member("vera@example.com", ada.browser.account, "viewer")
    page = await vera.get("/shares")
    assert "Spring" in page.text
    assert share["url"] not in page.text
    assert (await vera.get(f"/shares/{share['id']}")).status_code == 403
    assert "Share this view" not in (await vera.get("/stats")).text
    eve = await place.member("eve@example.com", ada.browser.account, "editor")
    assert share["url"] in (await eve.get("/shares")).text
