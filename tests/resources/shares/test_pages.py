"""Shared statistics as visitors see them."""

import asyncio
import contextlib
import itertools
import re
from collections.abc import Sequence
from datetime import timedelta
from html import unescape
from typing import Any

import httpx
import pytest
from browsing import Browser, WebApp
from people import START
from resources.clicks.test_dashboard import words
from resources.clicks.test_explore import href_of
from resources.clicks.visited import fill, new_click
from resources.links.env import faults
from resources.shares.asking import new_sharer

from waypost.accounts import suspension
from waypost.accounts.members import store as memberships
from waypost.resources.clicks.backends.sql.read import SqlReader
from waypost.resources.clicks.model import Click
from waypost.resources.links import Link
from waypost.resources.links import store as link_store
from waypost.resources.links.bulk import changes
from waypost.resources.shares import pages, service
from waypost.resources.shares.statistics import TOO_LARGE

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


async def visitor(place: WebApp) -> Browser:
    return await place.browser()


def path_of(share: dict[str, Any], name: str = "url") -> str:
    return share[name].removeprefix("http://app.test")


def total(page: httpx.Response) -> int:
    """The number of clicks on the page."""
    assert page.status_code == 200, page.url
    return int(re.search(r"Statistics of .*? Clicks ([\d,]+) ", words(page.text))[1].replace(",", ""))


def clicks_of(link: Link, days: Sequence[float], **fields: Any) -> list[Click]:
    """Clicks of several visitors, so many days ago."""
    numbered = enumerate(days)
    return [new_click(link, START - day * DAY - HOUR, **{"visitor_id": number} | fields) for number, day in numbered]


async def test_follows_its_tag(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links that get a name which the tag had before, or has no more, are not shown."""
    ada, eve = await new_sharer(place), await visitor(place)
    spring, other = await ada.link(tags=["sale"]), await ada.link(tags=["other"])
    await fill(place.db, [*clicks_of(spring, [0, 1, 2]), *clicks_of(other, [0] * 7)])
    made, _ = await ada.share(tag="sale"), await ada.share(tag="other")
    await ada.tag("PATCH", "sale", name="summer")
    await ada.tag("PATCH", "other", name="sale")
    assert total(await eve.get(path_of(made))) == 3
    shown = (await ada.ask("GET", f"/{made['id']}")).json()["data"]
    assert shown == made | {"tag": "summer"}
    assert (await ada.ask("PATCH", f"/{made['id']}", json={"tag": "summer"})).json()["data"] == shown
    assert "Links tagged summer" in words((await ada.browser.get("/shares")).text)
    monkeypatch.setattr(changes, "MAX_NOW", 0)  # links lose the tag in steps, later
    merged = await ada.share(tag="sale", name="merged")
    await ada.tag("PATCH", "sale", name="summer")
    assert (await eve.get(path_of(merged))).status_code == 404
    assert total(await eve.get(path_of(made))) == 3
    bob = await new_sharer(place, "bob")
    await bob.link(tags=["sale"])
    deleted = await bob.share(tag="sale")
    await bob.tag("DELETE", "sale")
    assert (await eve.get(path_of(deleted))).status_code == 404
    assert (await bob.ask("PATCH", f"/{deleted['id']}", json={"name": "May"})).json()["data"]["tag"] == "sale"
    assert (await eve.get(path_of(deleted))).status_code == 404
    assert "Deleted tag" in words((await bob.browser.get("/shares")).text)
    page = (await bob.browser.get(f"/shares/{deleted['id']}")).text
    assert "The tag sale was deleted or merged" in words(page)
    assert (await bob.ask("PATCH", f"/{deleted['id']}", json={"tag": "May"})).json()["data"]["tag"] == "May"
    assert total(await eve.get(path_of(deleted))) == 0
    monkeypatch.setattr(service, "MAX_TAGS", 1)
    assert faults(await bob.ask("POST", json={"name": "x", "tag": "June"})).keys() == {"tag"}


async def test_shows_statistics_without_navigation(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    spring, hire = await ada.link(slug="spring", tags=["sale"]), await ada.link(slug="hire")
    made = [
        *clicks_of(spring, [0, 1, 2], country="DE", referrer="https://news.example/a", device="mobile"),
        *clicks_of(spring, [3], country="FR", ip="203.0.113.9"),
        *clicks_of(hire, [0, 0, 40], country="US"),
    ]
    await fill(place.db, made)
    for fields, count in (
        ({}, 6), ({"tag": "sale"}, 4), ({"link_id": str(spring.id)}, 4), ({"hostname": "app.test"}, 6),
        ({"filters": {"country": "DE"}}, 3), ({"tag": "sale", "filters": {"country": ["-DE"]}}, 1),
        ({"from": "2029-12-30T00:00:00Z"}, 5), ({"from": "2029-01-01T00:00:00Z", "to": "2029-12-30T00:00:00Z"}, 1),
    ):  # fmt: skip
        page = await eve.get(path_of(await ada.share(**fields)))
        assert total(page) == count, fields
        for hidden in ("203.0.113.9", "<nav", "/links/", "First click", "Get a report", "Latest clicks", "Share this"):
            assert hidden not in page.text, hidden
        assert page.headers["x-robots-tag"] == "noindex"
        assert page.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert "set-cookie" not in page.headers
        assert '<meta name="robots" content="noindex">' in page.text
    shared = path_of(await ada.share(tag="sale", name="For <b>Bob</b>"))
    page = await eve.get(f"{shared}?period=7d&compare=none")
    assert "<h1>For &lt;b&gt;Bob&lt;/b&gt;</h1>" in page.text
    germany = await eve.get(href_of(page.text, "Germany"))
    assert (total(germany), str(germany.url.query, "ascii")) == (3, "period=7d&compare=none&country=DE")
    part = await eve.get(f"{shared}?period=7d", headers={"HX-Request": "true"})
    assert part.text.lstrip().startswith('<div id="statistics"')
    series = await eve.get(href_of(page.text, "Clicks over time"))
    assert series.text.splitlines()[-1] == "2030-01-01T00:00:00.000000Z,1,1,0"
    links = await eve.get(f"{shared}.csv?list=top_links")
    assert links.text == "value,clicks\r\napp.test/spring,4\r\n"
    assert (await eve.get(f"{shared}.csv?list=nothing")).status_code == 404


async def test_visitors_narrow_and_never_widen(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    spring, hire = await ada.link(slug="spring", tags=["sale"]), await ada.link(slug="secret")
    made = [
        *clicks_of(spring, [0, 1], country="DE"),
        *clicks_of(spring, [1], country="FR"),
        *clicks_of(hire, [0], country="DE"),
    ]
    await fill(place.db, made)
    shared = path_of(await ada.share(tag="sale", filters={"country": "-FR"}))
    for query, count in (
        ("country=FR", 0), ("country=DE,FR", 2), ("tag=other", 0), ("tag=-sale", 0), ("hostname=app.test", 2),
        (f"link_id={spring.id}", 2),
    ):  # fmt: skip
        assert total(await eve.get(f"{shared}?{query}")) == count, query
    bob = await new_sharer(place, "bob")
    answers = set()
    for link in (hire, await bob.link(slug="bobs")):
        page = await eve.get(f"{shared}?link_id={link.id}")
        assert page.status_code == 422
        assert "This value cannot be chosen." in words(page.text)
        assert "secret" not in page.text
        answers.add(re.sub(r"[0-9a-f-]{36}", "", page.text))
    assert len(answers) == 1, "nobody learns whether the account has a link"
    of_link = path_of(await ada.share(link_id=str(spring.id)))
    assert total(await eve.get(f"{of_link}?tag=other&link_id={hire.id}")) == 3


async def test_bounds_hold_for_everything(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring")
    made = [
        *clicks_of(link, [0, 1, 2, 3, 10, 20, 370]),
    ]
    await fill(place.db, made)
    shared = path_of(await ada.share(**{"from": "2029-12-25T00:00:00Z", "to": "2029-12-31T00:00:00Z"}))
    for query, count in (
        ("", 2), ("period=all", 2), ("period=12m&interval=hour&timezone=Asia/Tokyo", 2), ("period=24h", 1),
        ("period=custom&from=2029-01-01&to=2031-01-01", 2), ("period=custom&from=2029-12-30&to=2029-12-30", 1),
        ("compare=previous_year", 2), ("period=custom&from=2029-12-01&to=2029-12-29&interval=month", 1),
    ):  # fmt: skip
        page = await eve.get(f"{shared}?{query}")
        assert total(page) == count, query
        assert " than " not in words(page.text).partition("Show as a table")[0], query
    outside = await eve.get(f"{shared}?period=custom&from=2029-12-01&to=2029-12-10")
    assert (outside.status_code, "Statistics are shown from 25 Dec 2029 on." in words(outside.text)) == (422, True)
    assert total(httpx.Response(200, text=outside.text)) == 2
    assert len((await eve.get(f"{shared}.csv?period=all&interval=month")).text.splitlines()) == 2
    open_end = path_of(await ada.share(**{"from": "2029-12-20T00:00:00Z"}))
    assert "0 in 25\u201328 Dec" in words(
        (await eve.get(f"{open_end}?period=custom&from=2029-12-29&to=2030-01-01")).text
    )
    later = path_of(await ada.share(**{"from": "2030-02-01T00:00:00Z"}))
    assert "These statistics begin on 1 Feb 2030." in words((await eve.get(later)).text)
    assert (await eve.get(f"{later}.csv")).status_code == 422


async def test_what_is_revoked_is_gone_at_once(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring")
    shares = [await ada.share(embed_origins=["https://a.example"], **more) for more in (
        {}, {"link_id": str(link.id)}, {"expires_at": "2030-01-01T13:00:00Z"}, {},
    )]  # fmt: skip
    paths = [[path_of(share), path_of(share, "embed_url"), f"{path_of(share)}.csv"] for share in shares]
    for path in itertools.chain(*paths):
        assert (await eve.get(path)).status_code == 200
    await ada.ask("DELETE", f"/{shares[0]['id']}")
    assert {(await eve.get(path)).status_code for path in paths[0]} == {404}
    async with place.db.write() as tx:
        await link_store.hide(tx, [link], place.clock())
    assert {(await eve.get(path)).status_code for path in paths[1]} == {404}
    place.clock.move(HOUR)
    assert {(await eve.get(path)).status_code for path in paths[2]} == {404}
    assert {(await eve.get(path)).status_code for path in paths[3]} == {200}
    async with place.db.write() as tx:
        await suspension.suspend(tx, ada.browser.account.id, "Spam", place.clock())
    assert {(await eve.get(path)).status_code for path in paths[3]} == {404}


async def test_unknown_tokens_are_limited(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    shared = path_of(await ada.share())
    for token in ("a" * 43, "short", "ä" * 43, shared.rpartition("/")[2] + "x", f"{'a' * 43}/embed/{'b' * 43}"):
        assert (await eve.get(f"/share/{token}")).status_code == 404
    statuses = [(await eve.get(f"/share/{'a' * 43}")).status_code for _ in range(pages.UNKNOWN_PER_MINUTE)]
    assert {*statuses} == {404, 429}
    assert (await eve.get(shared)).status_code == 200


async def test_asks_for_the_password(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    made = await ada.share(password="open sesame")
    shared = path_of(made)
    for path in (shared, f"{shared}.csv", f"{shared}?period=7d"):
        form = await eve.get(path)
        assert (form.status_code, "This link is protected" in form.text) == (200, True)
        assert "set-cookie" not in form.headers
        assert "frame-ancestors 'none'" in form.headers["content-security-policy"]
    wrong = await eve.post(shared, {"password": "open barley"})
    assert (wrong.status_code, "Wrong password" in wrong.text) == (200, True)
    assert "set-cookie" not in wrong.headers
    other = await eve.post(shared, {"password": "open sesame"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert other.status_code == 403
    right = await eve.post(f"{shared}?period=7d", {"password": "open sesame"})
    assert (right.status_code, right.headers["location"]) == (303, f"{shared}?period=7d")
    assert all("HttpOnly; SameSite=Lax" in cookie for cookie in right.headers.get_list("set-cookie"))
    assert total(await eve.get(right.headers["location"])) == 0
    assert (await eve.get(f"{shared}.csv")).headers["content-type"].startswith("text/csv")
    await ada.ask("PATCH", f"/{made['id']}", json={"embed_origins": ["https://a.example"]})
    assert "This link is protected" in (await eve.get(shared)).text
    await eve.post(shared, {"password": "open sesame"})
    assert total(await eve.get(shared)) == 0
    place.clock.move(HOUR)
    assert "This link is protected" in (await eve.get(shared)).text
    answers = [(await eve.post(shared, {"password": f"guess {number}"})).text for number in range(21)]
    assert "Too many attempts" in answers[-1]
    assert (await eve.post(path_of(await ada.share()), {"password": "x"})).status_code == 303


async def test_embeds_in_pages_of_its_origins(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring")
    made = [
        *clicks_of(link, [0, 1], country="DE"),
    ]
    await fill(place.db, made)
    share = await ada.share(password="open sesame", embed_origins=["https://a.example", "http://localhost:8000"])
    embedded = path_of(share, "embed_url")
    page = await eve.get(embedded)
    assert total(page) == 2
    assert "frame-ancestors https://a.example http://localhost:8000;" in page.headers["content-security-policy"]
    assert "x-frame-options" not in page.headers
    assert "set-cookie" not in page.headers
    urls = {unescape(url) for url in re.findall(r'(?:href|action|hx-get)="(/share[^"]*)"', page.text)}
    assert urls
    assert all(url.startswith(embedded) for url in urls)
    assert (await eve.get(f"{embedded}.csv?list=countries")).text == "value,clicks\r\nDE,2\r\n"
    assert (await eve.get(embedded[:-1] + ("A" if embedded[-1] != "A" else "B"))).status_code == 404
    other = path_of(await ada.share(embed_origins=["https://b.example"]))
    assert (await eve.get(f"{other}/embed/{embedded.rpartition('/')[2]}")).status_code == 404
    await ada.ask("PATCH", f"/{share['id']}", json={"password": "another"})
    assert (await eve.get(embedded)).status_code == 404


async def test_hides_small_numbers(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring")
    made = [
        *clicks_of(link, [0] * 40, country="DE", device="mobile", referrer="https://news.example/a"),
        *clicks_of(link, [1] * 20, country="AT", device="desktop", referrer="https://news.example/b"),
        *clicks_of(link, [1] * 3, country="LI", device="mobile", is_scan=True),
        *clicks_of(link, [2] * 4, country="LU", device="tablet"),
    ]
    await fill(place.db, made)
    shared = path_of(await ada.share(hide_below=5))
    page = await eve.get(f"{shared}?period=7d&compare=none")
    assert total(page) == 67
    text = words(page.text)
    assert "Germany 40 60% Austria 20 30% (other) 7 10%" in text
    for hidden in ("Liechtenstein", "Luxembourg", "Tablet", "QR scan", "from bots"):
        assert hidden not in text, hidden
    assert "Sun, 30 Dec 2029 \u2013 \u2013" in text
    countries = await eve.get(f"{shared}.csv?period=7d&list=countries")
    assert countries.text == "value,clicks\r\nDE,40\r\nAT,20\r\n(other),7\r\n"
    assert (await eve.get(f"{shared}.csv?period=7d&list=referrers")).text.startswith(
        "value,clicks\r\nnews.example,60\r\n"
    )
    assert "2029-12-30T00:00:00.000000Z,,,\r\n" in (await eve.get(f"{shared}.csv?period=7d")).text
    seen = set()
    for query in ("country=LI", "country=-LI", "country=XX", "country=DE,LI"):
        refused = await eve.get(f"{shared}?period=7d&{query}")
        assert refused.status_code == 422, query
        assert (await eve.get(f"{shared}.csv?period=7d&{query}")).status_code == 422
        seen.add(words(refused.text).partition("Country is")[0])
    assert len(seen) == 1, "a hidden value looks like one that does not exist"
    for query in ("device=tablet", "is_scan=true", "utm_term=a", "referrer=https://news.example/a"):
        refused = await eve.get(f"{shared}?period=7d&{query}")
        assert " 67 " in words(refused.text).partition("Show as a table")[0], query  # nothing follows it
    assert total(await eve.get(f"{shared}?period=7d&country=DE")) == 40
    assert total(await eve.get(f"{shared}?period=7d&country=-DE")) == 27
    assert total(await eve.get(f"{shared}?period=7d&referrer=news.example")) == 60
    few = await eve.get(f"{shared}?period=custom&from=2029-12-30&to=2029-12-30")
    none = await eve.get(f"{shared}?period=custom&from=2029-12-20&to=2029-12-20")
    assert few.status_code == none.status_code == 200
    assert "There are fewer than 5 clicks, which are not shown." in words(few.text)
    assert words(few.text).partition("Time zone")[0] == words(none.text).partition("Time zone")[0]


async def test_says_what_is_not_available(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring", tags=["sale"])
    made = [
        *clicks_of(link, [0, 1], country="DE"),
    ]
    await fill(place.db, made)
    shared = path_of(await ada.share(tag="sale"))
    many = "&".join(f"tag={number}" for number in range(201))
    for query in (many, f"tag={'a' * 10_000}", "country=Germany", "tag=a%00b", "period=custom&from=x&to=y"):
        page = await eve.get(f"{shared}?{query}")
        assert page.status_code == 422, query[:40]
        assert "Clicks" in words(page.text)
    assert total(await eve.get(f"{shared}?tag=a%2C%22b&utm_source=%27")) == 0
    async with place.db.write() as tx:  # the tag is renamed while the page is open
        await link_store.save(tx, [(link, type(link)(**{**_fields(link), "tags": ["other"]}))])
    place.clock.move(pages.KEPT)
    assert total(await eve.get(shared)) == 0


def _fields(link: Link) -> dict[str, Any]:
    return {name: getattr(link, name) for name in link.__dataclass_fields__}


async def test_visitors_have_a_share_of_their_own(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    shared, account = path_of(await ada.share()), ada.browser.account.id
    slots = place.db._fair_slots
    for key, other in (account, lambda: eve.get(shared)), (pages.own_slots(account), lambda: ada.browser.get("/stats")):
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(slots._per_key):
                await stack.enter_async_context(slots.slot(key))
            assert (await other()).status_code == 200
    answers = await asyncio.gather(*(eve.get(f"{shared}?period=7d") for _ in range(20)))
    assert len({answer.content for answer in answers}) == 1


async def test_pages_are_kept_for_some_seconds_unless_the_share_changes(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring")
    share = await ada.share()
    assert total(await eve.get(path_of(share))) == 0
    part = await eve.get(path_of(share), headers={"HX-Request": "true"})
    await fill(place.db, clicks_of(link, [0, 1]))
    assert total(await eve.get(path_of(share))) == 0
    for name in ("HX-Request", "HX-Target"):  # their text makes no other page
        other = await eve.get(path_of(share), headers={"HX-Request": "true", name: "a" * 8_000})
        assert other.text == part.text, name
    place.clock.move(pages.KEPT)
    assert total(await eve.get(path_of(share))) == 2
    place.clock.move(timedelta(microseconds=1))
    await ada.ask("PATCH", f"/{share['id']}", json={"filters": {"country": "XX"}})
    assert total(await eve.get(path_of(share))) == 0


async def test_says_when_clicks_are_too_many_to_be_counted(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqlReader, "max_counted", 3)
    ada, eve = await new_sharer(place), await visitor(place)
    link = await ada.link(slug="spring")
    await fill(place.db, clicks_of(link, [0] * 7, country="DE"))
    shared = path_of(await ada.share(filters={"country": "DE"}))
    page = await eve.get(shared)
    assert (page.status_code, TOO_LARGE in words(page.text)) == (422, True)
    assert " visits" not in page.text, "nothing says how many"
    assert (await eve.get(f"{shared}.csv")).status_code == 422


async def test_a_share_stays_when_its_maker_leaves(place: WebApp) -> None:
    ada, eve = await new_sharer(place), await visitor(place)
    bob = await place.member("bob@example.com", ada.browser.account, "editor")
    sent = await bob.post("/shares/new", {"name": "By Bob"})
    assert sent.status_code == 303
    async with place.db.write() as tx:
        await memberships.remove(tx, ada.browser.account.id, bob.person.id)
    (share,) = (await ada.ask("GET")).json()["data"]
    assert total(await eve.get(path_of(share))) == 0
