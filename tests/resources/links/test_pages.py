"""Pages of links: the list, the form with its problems, and who may see a link."""

import asyncio
import io
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from browsing import SAME_ORIGIN, Browser, WebApp
from people import START
from PIL import Image
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links
from resources.links.env import HOST, Website
from sqlalchemy import func, insert, select, update

from waypost.accounts import create_key
from waypost.kit.clock import DAY, microseconds
from waypost.kit.ids import new_id, parse_id
from waypost.resources.clicks.model import WHOLE_DAY, Subject, click_totals
from waypost.resources.domains.model import domains
from waypost.resources.domains.options.model import domain_options
from waypost.resources.links.model import link_clicks, links
from waypost.resources.webhooks.model import webhook_deliveries

HOSTILE = """<script>harm()</script>"'><img src=x onerror=harm()>"""
HTMX = {"HX-Request": "true", "HX-Target": "found"}


async def make(who: Browser, site: Website, **fields: Any) -> str:
    """A link's id."""
    answer = await who.post("/links/new", {"destination_url": site.url()} | fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix("/links/").removesuffix("?done=created")


async def api(place: WebApp, who: Browser) -> dict[str, str]:
    assert who.account
    now = place.clock()
    _, key = await create_key(place.db, account_id=who.account.id, name="k", scopes=(), expires_at=None, now=now)
    return {"Authorization": f"Bearer {key}"}


async def test_creates_a_link_and_lists_it(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    key = await api(place, ada)
    assert "No links yet" in (await ada.get("/links")).text
    subscription = {"url": "https://93.184.216.34/hook", "event_types": ["link.created"]}
    assert (await ada.client.post("/api/v1/webhooks", json=subscription, headers=key)).status_code == 201
    pixel = {"platform": "facebook", "name": "Shop", "pixel_id": "123"}
    pixel_id = (await ada.client.post("/api/v1/pixels", json=pixel, headers=key)).json()["data"]["id"]
    await ada.post("/account/timezone", {"timezone": "Asia/Kathmandu"})
    form = await ada.get("/links/new")
    assert "Shop" in form.text
    assert "In Asia/Kathmandu. After this time" in form.text
    await ada.post("/account/preferences", {"timezone": "UTC", "date_format": "iso", "number_format": "comma"})
    fields = {
        "form_id": re.findall(r'name="form_id" value="([^"]+)"', form.text)[0],
        "destination_url": f" \u200e{site.url()}\u200b ",
        "slug": "spring",
        "title": "",
        "og_title": "A card",
        "utm_params[utm_source]": "news letter",
        "utm_params[utm_medium]": "",
        "tags[]": ["one"],
        "new_tags": "two, , one",
        "expires_at": "2030-02-01T12:00",
        "shown_zone": "Asia/Kathmandu",
        "pixel_ids[]": [pixel_id],
    }
    answers = await asyncio.gather(*(ada.post("/links/new", fields) for _ in range(3)))  # sent thrice, one link
    assert {answer.headers["location"] for answer in answers} == {f"/links/{fields['form_id']}?done=created"}
    assert "Link created." in (await ada.get(answers[0].headers["location"])).text
    page = (await ada.get("/links")).text
    for text in (
        "app.test/spring",
        "Page title",
        f"{HOST}:{site.port}",
        ">two<",
        "1 link<",
        "Expires <time",
    ):
        assert text in page, text
    made = (await ada.client.get(f"/api/v1/links/{fields['form_id']}", headers=key)).json()["data"]
    assert (made["destination_url"], made["tags"]) == (site.url("/page/?utm_source=news%20letter"), ["one", "two"])
    assert (made["title"], made["og_title"], made["pixel_ids"]) == ("Page title", "A card", [pixel_id])
    assert made["expires_at"] == "2030-02-01T06:15:00.000000Z"
    async with place.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(webhook_deliveries)) == 1
    assert 'value="two"' in (await ada.get("/links/new")).text  # among the suggestions


async def test_a_change_sends_only_what_differs(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    id_ = await make(ada, site, slug="a", expires_at="2030-01-01T13:00:05", **{"utm_params[utm_source]": "x"})
    page = (await ada.get(f"/links/{id_}/edit")).text
    saved = {
        "destination_url": site.url("/page/"),
        "slug": "a",
        "title": "Page title",
        "expires_at": "2030-01-01T13:00:05",
    }
    for name, value in saved.items():
        assert re.search(rf'name="{name}"[^>]*value="{re.escape(value)}"', page), name
    place.clock.move(timedelta(hours=2))
    site.seen.clear()
    same = saved | {
        "og_title": "Scraped OG title",
        "og_description": "Scraped description",
        "og_image": site.url("/card.png"),
    }
    same |= {"hostname": "app.test", "utm_params[utm_source]": "x"}
    answer = await ada.post(f"/links/{id_}/edit", same | {"title": "New", "og_description": "Two\r\nlines"})
    assert answer.headers["location"] == f"/links/{id_}?done=changed"  # though it has expired
    assert site.seen == []
    async with place.db.read() as tx:
        row = (await tx.execute(select(links))).one()
    assert (row.title, row.og_description, row.destination_url) == (
        "New",
        "Two\nlines",
        site.url("/page/?utm_source=x"),
    )
    await ada.post(f"/links/{id_}/edit", same | {"title": "New", "utm_params[utm_source]": ""})
    async with place.db.read() as tx:
        row = (await tx.execute(select(links))).one()
    assert (row.destination_url, row.utm_params, row.og_description) == (site.url("/page/"), {}, "Scraped description")


async def test_times_stay_and_are_refused_where_clocks_change(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    id_ = await make(ada, site, slug="a")
    second = datetime(2030, 10, 27, 1, 30, 7, 123_456, tzinfo=UTC)  # 2:30 for the second time
    async with place.db.write() as tx:
        await tx.execute(update(links).values(expires_at=second, starts_at=second - timedelta(days=1)))
    await ada.post("/account/timezone", {"timezone": "Europe/Berlin"})
    page = (await ada.get(f"/links/{id_}/edit")).text
    assert 'value="2030-10-27T02:30:07"' in page
    fields = {"destination_url": site.url("/page/"), "slug": "a", "title": "New"}
    times = {"expires_at": "2030-10-27T02:30:07", "starts_at": "2030-10-26T03:30:07", "shown_zone": "Europe/Berlin"}
    assert (await ada.post(f"/links/{id_}/edit", fields | times)).status_code == 303
    async with place.db.read() as tx:
        row = (await tx.execute(select(links))).one()
    assert (row.title, row.expires_at, row.starts_at) == ("New", second, second - timedelta(days=1))
    skipped = {"expires_at": "2031-03-30T02:30", "starts_at": "2031-03-30T02:31", "slug": "a b"}
    refused = await ada.post(f"/links/{id_}/edit", fields | skipped)
    assert refused.status_code == 422
    for minute in (30, 31):
        assert f"skip this time, because they go forward. Enter 03:{minute}, for example." in refused.text
        assert f'value="2031-03-30T02:{minute}"' in refused.text
    assert "Use letters, digits" in refused.text, "what else is wrong is said, too"
    await ada.post(f"/links/{id_}/edit", fields | {"expires_at": "2031-10-26T02:30", "starts_at": ""})
    async with place.db.read() as tx:
        assert (await tx.execute(select(links.c.expires_at))).scalar_one() == datetime(2031, 10, 26, 0, 30, tzinfo=UTC)


async def test_shows_problems_beside_their_fields_and_keeps_the_input(place: WebApp, site: Website) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    taken = await make(bob, site, slug="taken")
    fields = {
        "destination_url": "http://localhost/" + HOSTILE.replace(" ", ""),
        "slug": "taken",
        "title": HOSTILE,
        "og_image": "nonsense",
        "new_tags": "x" * 300,
        "tags[]": [HOSTILE],
        "expires_at": "2020-01-01T00:00",
        "pixel_ids[]": ["nonsense"],
        "hostname": "foreign.example",
        "utm_params[utm_term]": "y" * 256,
    }
    answer = await ada.post("/links/new", fields)
    page = unescape(answer.text)
    assert answer.status_code == 422
    assert "<script>harm" not in answer.text
    assert "<img src=x" not in answer.text
    for text in (
        "is already taken",
        "not on the public internet",
        "time in the future",
        "at most 255",
        "must be a UUID",
    ):
        assert text in page, text
    for name in ("destination_url", "slug", "og_image", "expires_at"):
        assert re.search(rf'<input[^>]*name="{name}"[^>]*aria-invalid="true"', answer.text), name
    for kept in (fields["destination_url"], "x" * 300, HOSTILE, "foreign.example", "y" * 256):
        assert kept in page, kept
    foreign = await ada.post("/links/new", {"destination_url": site.url(), "form_id": taken})
    assert foreign.status_code == 422
    assert "already submitted" in foreign.text
    wrong = await ada.post(
        f"/links/{await make(ada, site, slug='mine')}/edit", {"destination_url": "ftp://x.example", "slug": "a b"}
    )
    assert (wrong.status_code, wrong.text.count('class="error"')) == (422, 2)


async def test_searches_sorts_and_pages_the_list(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    ids = [
        await make(ada, site, slug=f"s{n}", title=title, new_tags="t") for n, title in enumerate(("b", HOSTILE, "A"))
    ]
    days = microseconds(place.clock()) // DAY
    first = parse_id(ids[0])
    async with place.db.write() as tx:
        await tx.execute(update(link_clicks).where(link_clicks.c.link_id == first).values(clicks=1234))
        rows = [{"day": days - n, "subject_id": first, "quarter": WHOLE_DAY, "clicks": n + 1} for n in (0, 13, 14)]
        await tx.execute(insert(click_totals), rows)
        await tx.execute(insert(domains), _domain(place, ada))
    found = await ada.get("/links?sort=clicks&range=all")
    assert "<script>harm" not in found.text
    assert _order(found.text) == ["s0", "s2", "s1"]
    assert "<strong>1.23k</strong>" in found.text
    for chosen, counted in (("7d", 1), ("", 30), ("90d", 30)):
        assert f"<strong>{counted}</strong>" in (await ada.get(f"/links?range={chosen}")).text
    assert _order((await ada.get("/links?sort=title")).text) == ["s1", "s2", "s0"]
    part = await ada.get("/links?search=HARM&tag=t&status=active&hostname=app.test&sort=newest", headers=HTMX)
    assert (_order(part.text), "<html" in part.text) == (["s1"], False)
    assert part.headers["hx-push-url"] == "/links?search=HARM&tag=t&hostname=app.test&status=active"
    again = await ada.get("/links?search=HARM", headers=HTMX | {"HX-History-Restore-Request": "true"})
    assert "<html" in again.text
    assert "No links found" in (await ada.get("/links?hostname=go.example.com")).text
    beyond = (await ada.get("/links?page=99")).text
    assert ("Page not found in this list" in beyond, "match" in beyond) == (True, False)
    wrong = await ada.get("/links?search=a%00b&status=odd")
    assert (wrong.status_code, "control characters" in wrong.text) == (422, True)
    async with place.db.write() as tx:
        await tx.execute(update(links).values(created_at=links.c.created_at))
    for n in range(3, 27):
        await make(ada, site, slug=f"s{n}", title="t")
    turned = await ada.get("/links?page=2&search=s")
    assert (_order(turned.text), "27 links" in turned.text) == (["s1", "s0"], True)
    assert 'rel="prev">Newer</a>' in turned.text
    assert 'rel="next">Next</a>' in (await ada.get("/links?sort=clicks")).text


async def test_disables_copies_and_deletes_a_link(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    id_ = await make(ada, site, slug="a", new_tags="t", **{"utm_params[utm_source]": "x"})
    answer = await ada.post(f"/links/{id_}/switch?tag=t", {"status": "inactive"})
    assert answer.headers["location"] == f"/links?tag=t&done=disabled&link={id_}"
    assert (await ada.get("/a")).status_code == 404
    row = await ada.post(f"/links/{id_}/switch", {"status": "active"}, headers=HTMX)
    assert (row.text.count("<li id="), "Active" in row.text, "<html" in row.text) == (1, True, False)
    copy = (await ada.get(f"/links/new?from={id_}")).text
    assert re.search(r'name="slug" value=""', copy)
    assert re.search(r'name="utm_params\[utm_source\]"[^>]*value="x"', copy)
    question = await ada.get(f"/links/{id_}/delete", headers=HTMX)
    assert ("undo this for 24 hours" in question.text, "<html" in question.text) == (True, False)
    assert "<html" in (await ada.get(f"/links/{id_}/delete")).text
    deleted = (await ada.post(f"/links/{id_}/delete?tag=t")).headers["location"]
    assert deleted.startswith("/links?tag=t&done=link-deleted&change=")
    assert (await ada.post(f"/links/{id_}/delete")).status_code == 404
    assert (await ada.get("/a")).status_code == 404
    assert "No links yet" in (await ada.get("/links")).text
    [undo] = re.findall(r'action="(/links/bulk/[^"]+/undo)"', (await ada.get(deleted)).text)
    assert (await ada.post(undo, {"change_id": str(new_id())})).status_code == 303
    assert (await ada.get("/a")).status_code == 302


async def test_keeps_an_uploaded_image_until_it_is_replaced(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    image_bytes = io.BytesIO()
    Image.new("RGB", (2, 2)).save(image_bytes, "PNG")
    fields = {"destination_url": site.url(), "slug": "a"}
    for content, status in ((b"no image", 422), (image_bytes.getvalue(), 303)):
        file = {"og_image_file": ("a.png", content, "image/png")}
        answer = await ada.client.post("/links/new", data=fields, files=file, headers=SAME_ORIGIN)
        assert answer.status_code == status
    id_ = answer.headers["location"].removeprefix("/links/").removesuffix("?done=created")
    page = (await ada.get(f"/links/{id_}/edit")).text
    (path,) = re.findall(r'<img id="card-image" src="(/media/[^"]+)"', page)
    assert (await ada.get(path)).headers["content-type"] == "image/png"
    await ada.post(f"/links/{id_}/edit", fields | {"title": "New", "og_image": f"http://app.test{path}"})
    assert (await ada.get(path)).status_code == 200
    assert path not in (await ada.get(f"/links/new?from={id_}")).text  # it goes with its link
    await ada.post(f"/links/{id_}/edit", fields | {"og_image": ""})
    assert (await ada.get(path)).status_code == 404


async def test_the_form_checks_slugs_and_previews_destinations(place: WebApp, site: Website) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    async with place.db.write() as tx:
        await tx.execute(insert(domains), _domain(place, ada))
    mine = await make(ada, site, slug="mine")
    gone = await make(ada, site, slug="gone")
    await ada.post(f"/links/{gone}/delete")
    await make(bob, site, slug="taken")
    for query, text in {
        "slug=fresh": "is available",
        "slug=MINE": "It differs from app.test/mine only by upper and lower case",
        "slug=MINE&hostname=app.test": "It differs from app.test/mine only by upper and lower case",
        "slug=MINE&hostname=go.example.com": "This slug is available.</p>",
        "slug=mine": "One of your links uses this slug",
        f"slug=mine&link={mine}": "current slug",
        "slug=gone": "used it before",
        "slug=taken": "already taken",
        "slug=login": "reserved",
        "slug=a%20b": "only letters",
        "slug=": "letters, digits",
    }.items():
        assert text in (await ada.get(f"/links/check-slug?{query}")).text, query
    card = await ada.post("/links/preview", {"destination_url": site.url()})
    for text in ("Scraped OG title", "Scraped description", "/card.png", 'data-title="Page title"'):
        assert text in card.text, text
    refused = await ada.post("/links/preview", {"destination_url": "http://10.0.0.1/"})
    assert "is not on the public internet" in refused.text


async def test_links_of_other_accounts_are_not_found(place: WebApp, site: Website) -> None:
    ada, bob, nobody = [await place.browser(f"{name}@example.com") for name in ("ada", "bob")] + [await place.browser()]
    id_ = await make(ada, site, slug="a")
    for path in (
        f"/links/{id_}/edit",
        f"/links/{id_}/delete",
        f"/links/new?from={id_}",
        "/links/x/edit",
        f"/links/{new_id()}/edit",
    ):
        assert (await bob.get(path)).status_code == 404, path
    for path in ("edit", "switch", "delete"):
        assert (await bob.post(f"/links/{id_}/{path}", {"status": "inactive"})).status_code == 404
        assert (await ada.client.post(f"/links/{id_}/{path}", data={"status": "inactive"})).status_code == 403
    for path in ("/links/new", "/links/preview"):
        assert (await ada.client.post(path, data={"destination_url": site.url()})).status_code == 403
    assert (await bob.get(f"/links/{id_}?done=created")).status_code == 404
    for path in ("/links", "/links/new", "/links/check-slug?slug=a"):
        assert (await nobody.get(path)).headers["location"].startswith("/login")
    assert (await ada.get("/a")).status_code == 302


async def test_creates_nothing_without_a_plan(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    answer = await ada.post("/links/new", {"destination_url": site.url(), "slug": "kept"})
    assert (answer.status_code, 'href="/plan"' in answer.text, 'value="kept"' in answer.text) == (402, True, True)
    assert "The link was not created" in answer.text
    assert site.seen == []


async def test_says_that_a_domain_is_not_verified(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    await ada.post("/domains", {"hostname": "go.b\u00fccher.test"})
    hostname = "go.xn--bcher-kva.test"
    form = (await ada.get("/links/new")).text
    assert f'<option value="{hostname}">go.b\u00fccher.test (not verified)</option>' in form
    link_id = await make(ada, site, hostname=hostname, title="Books")
    created = (await ada.get(f"/links/{link_id}?done=created")).text
    assert ("You can share it now" in created, f"works as soon as {hostname} is verified" in created) == (False, True)
    for path in ("/links", f"/links/{link_id}", f"/links/{link_id}/qrcode", f"/links/{link_id}/edit"):
        page = (await ada.get(path)).text
        assert "Domain not verified" in page, path
        assert path == "/links" or "<h1>Books</h1>" in page, path


def _order(page: str) -> list[str]:
    return re.findall(r'class="short cut"[^>]*>app\.test/(\w+)<', page)


def _domain(place: WebApp, who: Browser) -> dict[str, Any]:
    assert who.account
    now = place.clock()
    domain = {"hostname": "go.example.com", "token": "t", "status": "verified", "is_served": True, "tls_status": "none"}
    counts = {"failures": 0, "links_count": 0}
    return {"id": new_id(), "account_id": who.account.id, "created_at": now, "updated_at": now} | domain | counts


@pytest.mark.parametrize(
    ("sent", "is_open"),
    [({"utm_params[utm_term]": ""}, False), ({"utm_params[utm_term]": "shoes"}, True), ({"utm_params": "text"}, False)],
)
async def test_a_refused_form_opens_campaign_parameters_if_filled_in(
    place: WebApp, sent: dict[str, str], is_open: bool
) -> None:
    ada = await place.browser("ada@example.com")
    answer = await ada.post("/links/new", {"destination_url": "nonsense", **sent})
    assert answer.status_code == 422
    assert ('<details class="more" open>\n  <summary>Campaign' in answer.text) is is_open


async def test_the_form_forwards(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    named = {"options[forward_query]": "names", "options[names]": "utm_*, gclid", "options[forward_path]": "yes"}
    link = await make(ada, site, slug="a", **named)
    page = (await ada.get(f"/links/{link}/edit")).text
    for text in ('value="names" selected', 'value="utm_*, gclid"', 'value="yes" selected'):
        assert text in page, text
    viewer = await place.member("vic@example.com", ada.account, "viewer")
    shown = (await viewer.get(f"/links/{link}/edit")).text
    assert ("utm_*, gclid" in shown, "Added to the destination" in shown) == (True, True)
    base = {"destination_url": site.url(), "slug": "a"}
    refused = await ada.post(f"/links/{link}/edit", base | named | {"options[names]": "*"})
    assert "instead of a lone asterisk" in refused.text
    saved = await ada.post(f"/links/{link}/edit", base | {"options[forward_query]": "", "options[forward_path]": "no"})
    assert saved.status_code == 303
    page = (await ada.get(f"/links/{link}/edit")).text
    assert ('value="names" selected' in page, 'value="no" selected' in page) == (False, True)


async def test_the_form_has_a_note_and_an_external_id(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    sent = {"options[note]": " For <b>Åsa</b>\r\nand Bo ", "options[external_id]": " A/1 "}
    link = await make(ada, site, slug="a", **sent)
    shown = "For &lt;b&gt;Åsa&lt;/b&gt;\nand Bo"
    page = (await ada.get(f"/links/{link}/edit")).text
    assert (page.count(shown), 'value="A/1"' in page) == (2, True)
    for path in (f"/links/{link}", "/links?search=%C3%A5sa", "/links?external_id=A%2F1&sort=clicks"):
        assert shown in (await ada.get(path)).text, path
    assert shown not in (await ada.get("/links?external_id=A")).text
    viewer = await place.member("vic@example.com", ada.account, "viewer")
    settings = (await viewer.get(f"/links/{link}/edit")).text
    assert (shown in settings, "A/1" in settings) == (True, True)
    copy = (await ada.get(f"/links/new?from={link}")).text
    assert (shown in copy, "A/1" in copy) == (True, False)
    base = {"destination_url": site.url()}
    refused = await ada.post("/links/new", base | sent)
    assert (refused.status_code, "Another link of your account has this external ID" in refused.text) == (422, True)
    unchanged = await ada.post(f"/links/{link}/edit", base | {"slug": "a"} | sent)
    assert (unchanged.status_code, site.seen) == (303, ["/page"])
    await ada.post(f"/links/{link}/edit", base | {"slug": "a", "options[note]": "", "options[external_id]": ""})
    assert "A/1" not in (await ada.get(f"/links/{link}/edit")).text


async def test_password_dates_and_limits_are_saved_with_the_link_or_not_at_all(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    key = await api(place, ada)
    limits = {
        "password": "open sesame",
        "starts_at": "2030-01-05T12:00",
        "shown_zone": "Europe/Berlin",
        "click_limit": "5",
        "fallback_url": site.url("/over"),
    }
    wrong = {"password": "abc", "click_limit": "none", "fallback_url": "javascript:x", "slug": "a b"}
    refused = await ada.post("/links/new", {"destination_url": site.url()} | limits | wrong)
    assert refused.status_code == 422
    errors = re.findall(r'class="error" id="([a-z_]+)-error"', refused.text)
    assert sorted(errors) == ["click_limit", "fallback_url", "password"]
    assert ("only letters" in refused.text, 'value="none"' in refused.text, "abc" in refused.text) == (
        True,
        True,
        False,
    )
    assert "No links yet" in (await ada.get("/links")).text
    never = {"destination_url": site.url(), "starts_at": "2030-01-05T12:00", "expires_at": "2030-01-05T12:00"}
    assert "This must be before the link expires." in (await ada.post("/links/new", never)).text
    link = await make(ada, site, slug="a", **limits)
    created = (await ada.get(f"/links/{link}?done=created")).text
    assert 'It starts on <time datetime="2030-01-05T11:00' in created
    path = f"/api/v1/links/{link}/routing"
    stored = (await ada.client.get(path, headers=key)).json()["data"]
    expected = {"starts_at": "2030-01-05T11:00:00.000000Z", "click_limit": 5, "has_password": True}
    assert expected.items() <= stored.items()
    page = (await ada.get(f"/links/{link}/edit")).text
    assert re.search(r'<details class="more" open>\s*<summary>Password', page)
    assert ("A password is set." in page, "open sesame" in page, "routing</a> says" in page) == (True, False, False)
    copy = (await ada.get(f"/links/new?from={link}")).text
    assert ('value="2030-01-05T11:00"' in copy, "A password is set." in copy) == (True, False)
    assert "this one none yet" in copy
    twin = await ada.post("/links/new", {"destination_url": site.url(), "slug": "A"})
    assert "from that of another link" in (await ada.get(twin.headers["location"])).text
    await make(ada, site, slug="Sale")
    bob = await place.browser("bob@example.com")
    for who, hostname, is_told in ((ada, "", True), (ada, "no.such.test", False), (bob, "", False)):
        checked = (await who.get(f"/links/check-slug?slug=sale&hostname={hostname}")).text
        assert ("available" in checked, "It differs from" in checked) == (True, is_told)
    audit = (await ada.get(f"/account/audit?item={link}")).text
    assert (audit.count("Link created"), audit.count("Routing changed")) == (2, 2)  # the filter names both

    site.seen.clear()
    same = {"destination_url": site.url(), "slug": "a", "starts_at": "2030-01-05T11:00:00", "click_limit": "5"}
    same |= {"fallback_url": site.url("/over"), "password": ""}
    wrong = {"title": "Half", "fallback_url": "https://localhost/"}
    assert (await ada.post(f"/links/{link}/edit", same | wrong)).status_code == 422
    assert (await ada.client.get(f"/api/v1/links/{link}", headers=key)).json()["data"]["title"] == "Page title"
    saved = await ada.post(f"/links/{link}/edit", same | {"title": "Whole", "click_limit": "6"})
    assert (saved.status_code, site.seen) == (303, [])
    expected |= {"click_limit": 6, "fallback_url": site.url("/over")}
    assert expected.items() <= (await ada.client.get(path, headers=key)).json()["data"].items()
    early = same | {"click_limit": "6", "expires_at": "2030-01-05T10:00"}
    assert "This must be before the link expires." in (await ada.post(f"/links/{link}/edit", early)).text
    body = {"expires_at": "2030-01-05T10:00:00Z"}
    await ada.client.patch(f"/api/v1/links/{link}", headers=key, json=body)  # the API has no such rule
    assert (await ada.post(f"/links/{link}/edit", early | {"title": "Early"})).status_code == 303
    viewer = await place.member("vic@example.com", ada.account, "viewer")
    settings = (await viewer.get(f"/links/{link}/edit")).text
    for text in ("5 Jan 2030, 11:00", "Click limit</dt><dd>6", "Visitors must enter it", site.url("/over")):
        assert text in settings, text
    await ada.post(f"/links/{link}/edit", same | {"remove_password": "1", "starts_at": ""})
    stored = (await ada.client.get(path, headers=key)).json()["data"]
    assert (stored["has_password"], stored["starts_at"], stored["click_limit"]) == (False, None, 5)


async def test_a_conflict_does_not_show_a_password(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    path = f"/links/{await make(ada, site, slug='mine')}/edit"
    [version] = re.findall(r'name="version" value="([0-9a-f-]+)"', (await ada.get(path)).text)
    fields = {
        "destination_url": site.url(),
        "slug": "mine",
        "title": "Untitled",
        "version": version,
        "click_limit": "3",
    }
    assert (await ada.post(path, fields)).status_code == 303
    refused = await ada.post(path, fields | {"click_limit": "", "password": "open sesame"})
    rows = re.findall(
        r'<th scope="row"[^>]*>(.*?)<br>.*?by (.*?)</span></th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>', refused.text
    )
    assert rows == [("Click limit", "them", "3", "\u2013"), ("Password", "you", "\u2013", "Another one")]


async def test_a_random_slug_follows_the_rule_of_the_domain(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    async with place.db.write() as tx:
        row = _domain(place, ada)
        await tx.execute(insert(domains), row)
        rule = {"slug_length": 9, "slug_alphabet": "digits", "updated_at": place.clock()}
        await tx.execute(insert(domain_options).values(domain_id=row["id"], **rule))
    drawn = (await ada.get("/links/random-slug?hostname=go.example.com")).text
    assert re.fullmatch("[0-9]{9}", drawn), drawn
    for host in ("", "app.test", "%00"):
        assert re.fullmatch(r"\w{3,8}", (await ada.get(f"/links/random-slug?hostname={host}")).text), host


async def test_creates_a_link_of_a_destination_alone_on_the_overview(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    form_id = re.findall(r'name="form_id" value="([^"]+)"', (await ada.get("/")).text)[0]
    fields, quick = {"form_id": form_id, "destination_url": site.url()}, {"HX-Request": "true", "HX-Target": "quick"}
    for _ in range(2):  # sent twice, one link
        created = await ada.post("/links/new", fields, headers=quick)
        assert created.headers["hx-trigger"] == "link-created"
        short_url = re.findall(r'data-copied="http://(app\.test/\w+)"', created.text)[0]
        code = re.findall(r'<img src="(/links/[^"]+/qrcode/preview)"', created.text)[0]
        assert (await ada.get(code)).headers["content-type"] == "image/svg+xml"
    assert _order((await ada.get("/links")).text) == [short_url.removeprefix("app.test/")]
    refused = await ada.post("/links/new", fields | {"form_id": str(new_id()), "destination_url": "x"}, headers=quick)
    assert ('id="quick-error"' in refused.text, 'value="x"' in refused.text) == (True, True)


async def test_sorts_by_the_clicks_of_a_range(place: WebApp, site: Website) -> None:
    """The other links follow, the newest first."""
    ada = await place.browser("ada@example.com")
    assert ada.account
    ids = [parse_id(await make(ada, site, slug=f"s{n}", new_tags="a" if n % 2 else "b")) for n in range(6)]
    made = [
        new_click(Subject(ada.account.id, ids[n]), START - timedelta(days=age), visitor_id=age)
        for n, ages in {1: (1,), 2: (1, 2, 20), 4: (40, 41, 42, 43)}.items()
        for age in ages
    ]
    await fill(place.db, made)
    for query, expected in (
        ("range=7d", "s2 s1 s5 s4 s3 s0"),
        ("range=90d", "s4 s2 s1 s5 s3 s0"),
        ("range=90d&tag=b", "s4 s2 s0"),
        ("range=90d&search=s1", "s1"),
        ("range=all", "s4 s2 s1 s5 s3 s0"),
    ):
        assert " ".join(_order((await ada.get(f"/links?sort=clicks&{query}")).text)) == expected, query
    assert "6 links, the most clicked of these days first" in (await ada.get("/links?sort=clicks&range=7d")).text


async def test_sorts_all_matches_by_the_clicks_of_a_range_and_says_where_it_ends(place: WebApp) -> None:
    """Also in an account with very many clicks and links."""
    ada = await place.browser("ada@example.com")
    assert ada.account
    made = [new_link(ada.account.id, slug=f"s{n}", title="clicked" if n < 60 else "other") for n in range(1_001)]
    async with place.db.write() as tx:
        await add_links(tx, made)
    await fill(place.db, [new_click(each, START - timedelta(days=1), visitor_id=1) for each in made[:60]])
    async with place.db.write() as tx:
        for n, each in enumerate(made[:60]):
            totals = click_totals.c.subject_id == each.id, click_totals.c.quarter == WHOLE_DAY
            await tx.execute(update(click_totals).where(*totals).values(clicks=10_000 - n))
        await tx.execute(update(click_totals).where(click_totals.c.subject_id == ada.account.id).values(clicks=600_000))
    page = (await ada.get("/links?sort=clicks&search=clicked&page=3")).text
    assert _order(page) == [f"s{n}" for n in range(50, 60)]
    assert "60 links, the most clicked of these days first" in page
    page = (await ada.get("/links?sort=clicks")).text
    assert "1,001 links, first those among the 50 most clicked of these days, then the newest" in page


async def test_shows_chosen_columns_and_saved_filters(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    await make(ada, site, slug="s", title="A title", new_tags="t")
    shown = ("A title", 'class="spark"', ">t</", HOST)
    answer = await ada.post("/links/columns?tag=t", {"columns[]": ["title", "odd"]})
    assert answer.headers["location"] == "/links?tag=t"
    page = (await ada.get("/links?tag=t")).text.partition('<ul class="links')[2]
    assert [text in page for text in shown] == [True, False, False, False]
    await ada.post("/links/columns", {})
    page = (await ada.get("/links")).text.partition('<ul class="links')[2]
    assert [text in page for text in shown] == [False] * 4
    offered = re.findall(r'href="(/stats/views/new[^"]+)">Save these', (await ada.get("/links?tag=t&range=7d")).text)[0]
    assert "The list of links" in (await ada.get(offered)).text
    saved = await ada.post("/stats/views/new", {"name": "Tagged", "query": "view=links&tag=t&range=7d&odd=1"})
    assert saved.headers["location"] == "/links?tag=t&range=7d&done=view-saved"
    view = re.findall(r'href="(/stats/views/[^"]+)"[^>]*>.*?Tagged<', (await ada.get("/links")).text)[0]
    assert (await ada.get(view)).headers["location"] == "/links?tag=t&range=7d"


async def test_exports_what_the_list_shows_and_finds_links(place: WebApp, site: Website) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    for n in range(3):
        await make(ada, site, slug=f"s{n}", title=f"=evil {n}", new_tags="a, b" if n else "")
    await make(bob, site, slug="other")
    file = await ada.get("/links/csv?tag=a")
    lines = file.text.split("\r\n")
    assert [line.partition(",")[0] for line in lines] == ["Short link", "app.test/s2", "app.test/s1", ""]
    assert f'app.test/s2,{site.url()},\'=evil 2,"a, b",2030-01-01T12:00:00.000000Z,,0,active,,' in file.text
    assert (await ada.get("/links/csv?status=odd")).status_code == 422
    found = (await ada.get("/links/find?search=evil+1")).json()
    assert [(each["name"], each["title"]) for each in found] == [("app.test/s1", "=evil 1")]
    assert (await bob.get("/links/find?search=evil")).json() == []
    for text in ("a" * 300, "%00"):
        assert (await ada.get(f"/links/find?search={text}")).json() == []


async def test_a_form_of_an_older_version_changes_nothing(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    id_ = await make(ada, site, slug="mine", **{"tags[]": "a"})
    path = f"/links/{id_}/edit"
    [version] = re.findall(r'name="version" value="([0-9a-f-]+)"', (await ada.get(path)).text)
    fields = {
        "destination_url": site.url(),
        "slug": "mine",
        "title": "<Mine>",
        "version": version,
        "tags[]": ["a"],
        "new_tags": "b",
        "expires_at": "2031-01-01T01:00",
        "shown_zone": "Europe/Berlin",
    }
    place.clock.move(timedelta(seconds=1))
    assert (await ada.post(path, fields | {"title": "Theirs", "new_tags": ""})).status_code == 303
    refused = await ada.post(path, fields | {"utm_params[utm_source]": "x"})
    assert refused.status_code == 412
    rows = re.findall(r'<th scope="row"[^>]*>(.*?)<br>.*?</th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>', refused.text)
    assert rows == [("Title", "Theirs", "&lt;Mine&gt;"), ("Tags", "a", "a, b"), ("UTM params source", "\u2013", "x")]
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', refused.text)
    sent: dict[str, Any] = {}
    for name, value in hidden:
        sent.setdefault(name, []).append(unescape(value))
    assert (await ada.post(path, sent)).status_code == 303
    assert "a, b" in ", ".join(re.findall(r'name="tags\[\]" value="(\w)"', (await ada.get(path)).text))
    assert (await ada.post(path, sent)).status_code == 412
    assert (await ada.post(path, {k: v for k, v in sent.items() if k != "version"})).status_code == 303
