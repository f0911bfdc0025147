"""Statistics that are explored: rows that filter, chips, tabs, and states without statistics."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from zipfile import ZipFile

import pytest
from browsing import Browser, WebApp, open_place
from people import START
from resources.clicks.test_dashboard import link_of, words
from resources.clicks.visited import fill, new_click
from sqlalchemy import insert

from waypost import audit
from waypost.audit import Actor, Item
from waypost.kit.errors import Problems
from waypost.kit.preferences import DEFAULT
from waypost.resources.clicks.dashboard.page_state import PageState
from waypost.resources.clicks.dashboard.value_lists import heat_map, referrer_bars
from waypost.resources.clicks.days import day_of
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, Filters
from waypost.resources.clicks.model import click_retention
from waypost.resources.clicks.stats import csv_rows
from waypost.resources.clicks.stats.read import HourCount, ValueCount

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


def state(query: str = "", **parameters: str) -> PageState:
    filters = Filters.read(parse_qsl(query), ACCOUNT_FILTERS, Problems())
    return PageState("/", parameters, filters, ACCOUNT_FILTERS)


def href_of(html: str, name: str) -> str:
    """The link of a row, a chip or a button."""
    links = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', html.partition('id="latest"')[0])
    (found,) = {href for href, text in links if words(text) == name}
    return unescape(found)


async def test_each_row_is_a_link_that_filters(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    spring = await link_of(
        place, ada, slug="spring", tags=["sale"], utm_params={"utm_campaign": "may", "utm_term": "boots"}
    )
    hire = await link_of(place, ada, slug="hire")
    made = [
        new_click(
            spring, START - HOUR, visitor_id=1, country="DE", device="mobile", referrer="https://l.facebook.com/"
        ),
        new_click(
            spring, START - HOUR, visitor_id=2, country="DE", device="desktop", referrer="https://m.facebook.com/"
        ),
        new_click(spring, START - DAY, visitor_id=3, country="FR", device="mobile", is_scan=True),
        new_click(hire, START - DAY, visitor_id=4, country="DE", device="mobile", referrer="https://news.example/"),
    ]
    await fill(place.db, made)
    for names, clicks, query in (
        (["Germany"], 3, "country=DE"),
        (["Germany", "Mobile"], 2, "country=DE&device=mobile"),
        (["Facebook"], 2, "referrer=l.facebook.com&referrer=m.facebook.com"),
        (["Direct"], 1, "referrer=direct"),
        (["QR code scanned"], 1, "is_scan=true"),
        (["may"], 3, "utm_campaign=may"),
        (["boots"], 3, "utm_term=boots"),
        (["sale", "France"], 1, "tag=sale&country=FR"),
        (["app.test/hire"], 1, f"link_id={hire.id}"),
    ):
        page = await ada.get("/stats?period=7d&compare=previous_year")
        for name in names:
            page = await ada.get(href_of(page.text, name))
        assert page.url.query.decode() == f"period=7d&compare=previous_year&{query}"
        assert f"Clicks {clicks} " in words(page.text), names
        matching = page.text.partition('id="matching-clicks"')[2].partition("</table>")[0]
        assert matching.count("<tr") == clicks, names
        visitors = [int(text) for text in re.findall(r'visitors">(\d+) visitors?<', page.text)]
        assert visitors, names
        assert max(visitors) == clicks, names
        assert page.text.count('aria-label="Remove the filter') == len(names)
        cleared = await ada.get(href_of(page.text, "Clear all"))
        assert "Clicks 4 " in words(cleared.text)
        for name, value in parse_qsl(query):  # a change of the time range keeps them
            assert f'<input type="hidden" name="{name}" value="{value}">' in page.text
    opposite = await ada.get(href_of((await ada.get("/stats?country=DE")).text, "is"))
    assert "Clicks 1 " in words(opposite.text)
    assert "Country is not Germany" in words(opposite.text)
    of_link = await ada.get(f"/links/{spring.id}?device=mobile&tag=other")  # tags are no filters of a link
    assert "Clicks 2 " in words(of_link.text)


async def archive(who: Browser, path: str) -> ZipFile:
    return ZipFile(BytesIO((await who.get(path)).content))


async def assert_that_the_archive_has(who: Browser, path: str) -> None:
    """All of the files of the page, and what it shows."""
    answer = await who.get(path)
    assert answer.headers["content-disposition"] == 'attachment; filename="statistics-2030-01-01.zip"'
    with ZipFile(BytesIO(answer.content)) as opened:
        assert opened.namelist() == [
            *(f"{name}.csv" for name in ("clicks", "countries", "referrers", "devices", "browsers", "platforms")),
            *("hours.csv", "top_links.csv", "hostnames.csv", "README.txt"),
        ]
        for name in opened.namelist()[:-1]:
            of_list = "" if name == "clicks.csv" else name.removesuffix(".csv")
            assert opened.read(name).decode() == (await who.get(path.replace("list=all", f"list={of_list}"))).text
        about = opened.read("README.txt").decode()
    assert about == "Statistics of 26 Dec 2029 to 1 Jan 2030, times in UTC.\ncountry: DE\n"


async def test_files_have_what_the_page_shows(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada, slug="spring")
    referrers = [f"https://news.example/{number:02}" for number in range(60)]
    clicks = [new_click(link, START - HOUR, visitor_id=1, country="DE", referrer=each) for each in referrers]
    await fill(place.db, [*clicks, new_click(link, START - DAY, country="FR", browser="=1+1")])
    page = await ada.get("/stats?period=7d&country=DE")
    series = await ada.get(href_of(page.text, "Clicks over time"))
    assert series.headers["content-disposition"] == 'attachment; filename="clicks-2030-01-01.csv"'
    assert series.text.splitlines()[0] == "at,clicks,visitors,scans"
    assert series.text.splitlines()[-1] == "2030-01-01T00:00:00.000000Z,60,1,0"
    assert len((await ada.get(href_of(page.text, "Referrers"))).text.splitlines()) == 61  # not only the most frequent
    assert (await ada.get(href_of(page.text, "Top links"))).text == "value,clicks\r\napp.test/spring,60\r\n"
    assert (await ada.get(href_of(page.text, "Hours"))).text == "weekday,hour,clicks\r\n2,11,60\r\n"
    await assert_that_the_archive_has(ada, href_of(page.text, "All lists and clicks over time (ZIP)"))
    monkeypatch.setattr(csv_rows, "MAX_ROWS_OF_ALL", 59)
    with await archive(ada, "/stats/csv?list=all") as cut:
        assert cut.read("referrers.csv").count(b"\r\n") == 60
        assert "referrers.csv has the 59 values with most clicks." in cut.read("README.txt").decode()
    of_link = await ada.get(f"/links/{link.id}/csv?list=browsers")
    assert "'=1+1,1" in of_link.text
    bob = await place.browser("bob@example.com")
    for who, path, status in (
        (ada, "/stats/csv?list=nothing", 404),
        (ada, "/stats/csv?country=Germany", 422),
        (bob, f"/links/{link.id}/csv", 404),
    ):
        assert (await who.get(path)).status_code == status, path


async def test_states_without_statistics(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    await fill(place.db, [new_click(link, START - HOUR, country="DE")])
    page = await ada.get("/stats?country=FR&period=7d")
    assert "No clicks with these filters in this time range. Clear all filters Show all time" in words(page.text)
    assert href_of(page.text, "Show all time") == "/stats?period=all&country=FR"
    page = await ada.get("/stats?country=Germany&device=mobile")
    assert (page.status_code, "country: This must be a two-letter" in words(page.text)) == (422, True)
    assert "Device is Mobile" in words(page.text)
    assert (await ada.get("/stats?link_id=01a1ff80-41f1-7799-bb38-42da4aa822bb")).status_code == 404
    async with place.db.write() as tx:
        await tx.execute(insert(click_retention).values(id=1, kept_since=day_of(START) + 1))
    page = await ada.get("/stats?country=DE")
    assert (page.status_code, "are kept, and filters need them" in words(page.text)) == (422, True)
    assert href_of(page.text, "Last 7 days") == "/stats?period=7d&country=DE"
    assert "Clicks 1 " in words((await ada.get("/stats")).text)


def test_a_row_that_is_chosen_leads_back() -> None:
    chosen = state("country=DE&country=AT&country=-CH", period="7d")
    countries = chosen.links_of("country")
    assert (countries.is_chosen(["DE"]), countries.is_chosen(["CH"]), countries.is_chosen([])) == (True, False, False)
    assert countries.url(["DE"]) == "/?period=7d&country=AT&country=-CH"
    assert countries.url(["FR"]) == "/?period=7d&country=-CH&country=FR"
    assert chosen.links_of("device").url(["mobile"]) == "/?period=7d&country=DE&country=AT&country=-CH&device=mobile"
    assert PageState("/", {}, Filters(), LINK_FILTERS).links_of("tag").url(["a"]) == ""


@pytest.mark.parametrize("tag", ["-sale", "\\-x", "a,b", "none", "ü & =", "", "\\none"])
def test_any_value_can_be_chosen(tag: str) -> None:
    url = urlsplit(state().links_of("tag").url([tag]))
    (chip,) = state(url.query).chips({})
    assert (chip.name, chip.is_excluded, chip.removed) == (tag or "None", False, "/")
    (excluded,) = state(urlsplit(chip.reversed).query).chips({})
    assert (excluded.name, excluded.is_excluded) == (tag or "None", True)


def test_hosts_of_one_place_have_one_chip() -> None:
    chips = state(
        "referrer=l.facebook.com&referrer=m.facebook.com&referrer=-t.co&link_id=01a1ff80-41f1-7799-bb38-42da4aa822bb"
    )
    facebook, x, link = chips.chips({"01a1ff80-41f1-7799-bb38-42da4aa822bb": "go.test/a"})
    assert (facebook.name, facebook.icon, x.name, x.is_excluded, link.name) == (
        "Facebook", ("brands", "facebook"), "X", True, "go.test/a",
    )  # fmt: skip
    assert "facebook" not in facebook.removed


def test_a_zoom_ends_when_a_time_range_is_chosen() -> None:
    zoomed = state(period="custom", **{"from": "2029-12-01", "to": "2029-12-02"})
    assert (zoomed.url(period="7d"), zoomed.url()) == ("/?period=7d", "/?period=custom&from=2029-12-01&to=2029-12-02")


def test_hosts_of_one_place_are_one_bar() -> None:
    urls = (
        "https://l.facebook.com/",
        "https://m.facebook.com/",
        "https://www.news.example/a",
        "https://news.example/b",
    )
    facebook, news, direct = referrer_bars([*(ValueCount(url, 2) for url in urls), ValueCount("", 1)])
    assert (facebook.name, facebook.clicks) == ("Facebook", 4)
    assert [each.name for each in facebook.parts] == ["l.facebook.com", "m.facebook.com"]
    assert (news.name, news.values, news.parts) == ("news.example", ["www.news.example", "news.example"], ())
    assert (direct.name, direct.values) == ("Direct", [""])


def test_names_the_peak_of_the_week() -> None:
    found = heat_map([HourCount(1, 9, 1), HourCount(4, 18, 5), HourCount(7, 0, 4)], DEFAULT)
    assert found
    assert found.peak == "Most clicks come on Thursdays from 18:00 to 19:00: 5, 50.0% of all."
    assert [(name, hours[9], hours[18], hours[0]) for name, hours in found.days if any(map(any, hours))] == [
        ("Monday", (1, 1), (0, 0), (0, 0)),
        ("Thursday", (0, 0), (5, 5), (0, 0)),
        ("Sunday", (0, 0), (0, 0), (4, 4)),
    ]
    assert heat_map([], DEFAULT) is None


async def test_the_chart_of_a_link_has_marks_of_its_changes(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    await fill(place.db, [new_click(link, START - HOUR)])
    actor = Actor.command(link.account_id, "a test")
    async with place.db.write() as tx:
        for action, at, item, changes in (
            ("link.created", START - 40 * DAY, link.id, {}),
            (
                "link.updated",
                START - 3 * DAY,
                link.id,
                {"destination_url": ["https://a.example/", "https://b.example/"]},
            ),
            ("link.updated", START - 2 * DAY, link.id, {"title": ["a", "b"]}),
            ("routing.updated", START - HOUR, link.id, {}),
            ("link.created", START - DAY, link.account_id, {}),
        ):
            await audit.record(tx, actor, action, at, Item(item, "a link"), changes=changes)
    page = await ada.get(f"/links/{link.id}?period=7d")
    assert "29 Dec 2029, 12:00: Destination changed 1 Jan 2030, 11:00: Routing changed Show as a table" in words(
        page.text
    )
    assert '"marks": [[3, "Destination changed"], [6, "Routing changed"]]' in page.text
    assert "b.example" not in page.text.partition('id="series"')[2]
    assert "22 Nov 2029, 12:00: Link created" in words(
        (await ada.get(f"/links/{link.id}?period=90d&compare=none")).text
    )
    assert 'class="marks' not in (await ada.get("/stats?period=7d")).text
