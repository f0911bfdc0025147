"""The overview: first steps, today beside yesterday, top links, and what needs attention."""

import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from browsing import WebApp, open_place
from people import START
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links
from sqlalchemy import insert

from waypost.accounts.members import store as members
from waypost.kit.ids import new_id
from waypost.resources.domains.model import domains

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LONG = "W" * 255
STEPS = [
    "Create your first link",
    "Share it, and get the first click",
    "Add your own domain",
    "Invite your team",
    "Import links of another service",
]


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<script.*?</script>|<[^>]*>", " ", html, flags=re.DOTALL)).split())


def left(html: str) -> list[str]:
    """The steps that are not done."""
    return re.findall(r'<li><svg[^>]*><path[^>]*/></svg><span><a href="[^"]+">([^<]+)</a>', html)


async def test_an_account_without_clicks_has_one_field_and_steps(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    page = (await ada.get("/")).text
    assert left(page) == STEPS
    assert ("Paste a long URL" in page, "Time range" in page, "Today" in words(page)) == (True, False, False)


async def test_steps_tick_themselves_and_end(place: WebApp) -> None:
    ada, eve = await place.browser("ada@example.com"), await place.browser("eve@example.com")
    link = new_link(ada.account.id, slug="spring", title=LONG, created_at=START - DAY)
    row = {"id": new_id(), "account_id": ada.account.id, "hostname": "go.example.com", "token": "t", "status": "failed"}
    row |= {"is_served": False, "tls_status": "none", "failures": 1, "links_count": 0}
    async with place.db.write() as tx:
        await add_links(tx, [link])
    assert left((await ada.get("/")).text) == STEPS[1:]
    await fill(place.db, [new_click(link, START - HOUR, visitor_id=1)])
    assert left((await ada.get("/")).text) == STEPS[2:]
    async with place.db.write() as tx:
        await tx.execute(insert(domains).values(row | {"created_at": START, "updated_at": START}))
        await members.add(tx, ada.account.id, eve.person.id, "viewer", START)
    page = (await ada.get("/")).text
    assert left(page) == [STEPS[2], STEPS[4]]
    assert "Needs attention go.example.com Domain not verified" in words(page)
    assert words(page).index("Today") < words(page).index("First steps")
    await ada.post("/account/first-steps/hide")
    assert left((await ada.get("/")).text) == []
    ada.client.cookies.delete("first_steps_hidden")
    place.clock.move(31 * DAY)
    assert left((await ada.get("/")).text) == []


async def test_compares_today_with_yesterday_until_the_same_time(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    spring = new_link(ada.account.id, slug="spring", title=LONG, created_at=START - 9 * DAY)
    async with place.db.write() as tx:
        await add_links(tx, [spring])
    ages = (HOUR, 2 * HOUR, 3 * HOUR, DAY + HOUR, DAY - HOUR, 8 * DAY)  # START is at noon
    await fill(place.db, [new_click(spring, START - age, visitor_id=n) for n, age in enumerate(ages)])
    text = words((await ada.get("/")).text)
    assert "Today compared with yesterday by now All statistics Clicks 3 200% more Visitors" in text
    assert f"Top links Last 7 days app.test/spring {LONG} 5 clicks" in text
    assert "1 hour ago app.test/spring" in text


async def test_leads_to_the_statistics_that_were_on_this_page(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert (await ada.get("/?period=7d&country=DE")).headers["location"] == "/stats?period=7d&country=DE"
    assert (await ada.get("/?done=saved")).status_code == 200
