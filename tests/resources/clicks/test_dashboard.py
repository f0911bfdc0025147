"""The overview and the page of a link: statistics as in the API, chosen time ranges, and hostile texts."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browser.hostile import HARM, TEXTS
from browsing import Browser, WebApp, open_place
from people import START, FakeClock
from resources.clicks.visited import fill, new_click, new_link
from resources.links.added import add_links
from sqlalchemy import delete

from waypost.kit.preferences import DEFAULT, Preferences
from waypost.resources import links
from waypost.resources.clicks.backends.sql import top_values
from waypost.resources.clicks.dashboard import time_range
from waypost.resources.clicks.dashboard.rendering import StatNumber
from waypost.resources.clicks.model import click_dimensions
from waypost.resources.clicks.stats.query import year_before

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("count", "before", "change"),
    [
        (3, 1, "200% more"),
        (1, 2, "50% fewer"),
        (2, 0, "2 more"),
        (20_001, 20_000, "1 more"),
        (2, 2, "as many"),
        (0, 0, ""),
    ],
)
def test_a_change_always_has_its_number(count: int, before: int, change: str) -> None:
    assert StatNumber("scans", count, before, "yesterday", DEFAULT).change == change


async def link_of(place: WebApp, who: Browser, **fields: Any) -> links.Link:
    assert who.account
    made = new_link(who.account.id, **{"created_at": START - 100 * DAY} | fields)
    async with place.db.write() as tx:
        await add_links(tx, [made])
    return made


def words(html: str) -> str:
    """The text of the page in one line."""
    return " ".join(unescape(re.sub(r"<script.*?</script>|<[^>]*>", " ", html, flags=re.DOTALL)).split())


async def test_shows_totals_series_and_lists(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    spring, hire = [await link_of(place, ada, slug=slug, title=slug.title()) for slug in ("spring", "hire")]
    gone = new_link(spring.account_id)
    direct = {"country": "DE", "device": "desktop", "browser": "Firefox", "platform": "Linux"}
    made = [
        new_click(spring, START - HOUR, visitor_id=1, is_scan=True, **direct),
        new_click(spring, START - 2 * HOUR, visitor_id=1, referrer="https://www.news.example/a"),
        new_click(spring, START - DAY, visitor_id=2, referrer="https://news.example/b", country=""),
        new_click(spring, START - 40 * DAY, visitor_id=3),
        new_click(spring, START - HOUR, kind="crawler", bot="Googlebot"),
        new_click(spring, START - HOUR, kind="preview", bot="Slack"),
        new_click(hire, START - 3 * HOUR, visitor_id=4),
        new_click(gone, START - 4 * HOUR, visitor_id=5),
    ]
    await fill(place.db, made)
    page = await ada.get(f"/links/{spring.id}")
    assert page.status_code == 200
    text = words(page.text)
    assert "Clicks 3 200% more than 3 Nov – 2 Dec 2029 Visitors 2 100% more than" in text  # noqa: RUF001
    assert "QR scans 1 0 in 3 Nov – 2 Dec 2029 Not counted as clicks" in text  # noqa: RUF001
    assert "1 from bots 1 from link previews" in text
    assert "3 Dec 2029 to 1 Jan 2030" in text
    assert "First click 31 Dec 2029, 12:00 , last click 1 Jan 2030, 11:00 ." in text
    assert "Referrers news.example 2 67% Direct 1 33%" in text
    assert "Mon, 31 Dec 2029 1 1 0 Tue, 1 Jan 2030 2 1 1" in text
    assert 'href="http://app.test/spring"' in page.text
    assert f'data-live="/links/{spring.id}/live"' in page.text
    assert text.index("1 hour ago Germany Desktop, Firefox, Linux Direct QR scan") < text.index("2 hours ago Germany")
    text = words((await ada.get("/stats")).text)
    assert "Clicks 5 400% more" in text
    assert "Top links app.test/spring ↗ 3 60% Deleted link 1 20% app.test/hire ↗ 1 20%" in text or (
        "Top links app.test/spring ↗ 3 60% app.test/hire ↗ 1 20% Deleted link 1 20%" in text
    )
    assert "4 hours ago Deleted link Germany" in text


async def test_time_range_interval_and_zone_are_chosen(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    moments = [START - 30 * timedelta(minutes=1), START - 20 * HOUR, START - 6 * DAY, START - 80 * DAY]
    await fill(place.db, [new_click(link, at, visitor_id=number) for number, at in enumerate(moments)])
    path = f"/links/{link.id}"
    for query, clicks, entries in (
        ("period=24h", 2, 24),
        ("period=7d", 3, 7),
        ("period=90d&interval=month", 4, 4),
        ("period=12m", 4, 49),
        ("period=all&interval=week", 4, 16),
        ("period=custom&from=2029-12-26&to=2029-12-31", 2, 6),
        ("period=custom&from=2029-12-31&to=2031-01-01", 2, 36),
        ("period=no&interval=no&timezone=no/where", 3, 30),
    ):
        page = await ada.get(f"{path}?{query}", headers={"HX-Request": "true"})
        assert page.status_code == 200, query
        assert "<html" not in page.text
        assert f"Clicks {clicks} " in words(page.text), query
        series = page.text.partition('id="dates"')[0]
        assert (series.count('<th scope="row">'), query) == (entries, query)
    page = await ada.get(f"{path}?timezone=Asia/Tokyo&period=24h")
    assert "1 Jan 2030, 21:00 0 0 0" not in words(page.text)  # the hour has just begun
    assert "1 Jan 2030, 20:00 1 1 0" in words(page.text)
    chosen = {"timezone": "Pacific/Auckland", "date_format": "iso", "number_format": "space"}
    await ada.post("/account/preferences", chosen)
    page = await ada.get(f"{path}?period=24h")
    assert "2030-01-02 00:00 1 1 0" in words(page.text)
    assert "Times in Pacific/Auckland." in words(page.text)
    page = await ada.get(f"{path}?timezone=Asia/Tokyo&period=24h")
    assert "use your time zone" in page.text
    assert f'href="{path}?period=24h"' in page.text
    assert '<input type="hidden" name="timezone" value="Asia/Tokyo">' in page.text


async def test_a_range_until_now_stays_one_while_time_passes(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clicks with times of clocks that are ahead are included, however often a page reads the clock."""
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    await fill(place.db, [new_click(link, START + timedelta(seconds=30))])

    def tick(clock: FakeClock) -> datetime:
        clock.move(timedelta(milliseconds=1))
        return clock.at

    monkeypatch.setattr(FakeClock, "__call__", tick)
    for path in ("/", f"/links/{link.id}"):
        assert "Clicks 1 " in words((await ada.get(path)).text), path


async def test_lists_of_many_clicks_load_after_the_page(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_values, "CACHE_THRESHOLD", 1)
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada, slug="spring")
    await fill(place.db, [new_click(link, START - HOUR, visitor_id=number) for number in range(2)])
    for path, part in (("/stats", "Top links app.test/spring ↗ 2"), (f"/links/{link.id}", "Places Germany Germany 2")):
        page = await ada.get(f"{path}?period=7d")
        assert ("Clicks 2 " in words(page.text), "Places" in words(page.text)) == (True, False)
        later = unescape(re.findall(r'hx-get="([^"]*&amp;lists=1)"', page.text)[0])
        assert later == f"{path}?period=7d&lists=1"
        alone = await ada.get(later, headers={"HX-Request": "true", "HX-Target": "lists"})
        assert re.match(r'\s*<div class="lists" id="lists">', alone.text)
        assert part in words(alone.text)
        assert "Visitors" not in alone.text
        assert part in words((await ada.get(later)).text)  # without scripts, on a page
        assert part in words((await ada.get(later, headers={"HX-Request": "true", "HX-Target": "statistics"})).text)


async def test_totals_without_values(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    await fill(place.db, [new_click(link, START - HOUR)])
    async with place.db.write() as tx:
        await tx.execute(delete(click_dimensions))
    for path in ("/", f"/links/{link.id}"):
        page = await ada.get(path)
        assert (page.status_code, "Clicks 1 " in words(page.text)) == (200, True)


async def test_errors_are_shown_at_their_fields(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    link = await link_of(place, ada)
    for query, name, text in (
        ("from=2030-13-01&to=2029-12-31", "from", "Enter a date"),
        ('from="><b>&to=', "to", "Enter a date"),
        ("from=2029-12-02&to=2029-12-01", "from", "must not be after"),
        ("from=2031-01-01&to=2031-01-02", "from", "in the future"),
        ("from=1969-01-01&to=2031-01-02", "from", "between the years"),
    ):
        page = await ada.get(f"/links/{link.id}?period=custom&{query}")
        assert page.status_code == 422, query
        assert re.search(rf'id="{name}-error">[^<]*{text}', page.text), query
        assert "<b>" not in page.text
    page = await ada.get(f"/links/{link.id}?period=90d&interval=hour")
    assert 'id="interval-error">Too many entries' in page.text
    chosen = await ada.get(f"/links/{link.id}?period=custom")  # and no day yet
    assert (chosen.status_code, 'value="2029-12-03"' in chosen.text) == (200, True)


async def test_only_the_owner_sees_statistics(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    link = await link_of(place, ada, title="Adas")
    nobody = await place.browser()
    for path in (f"/links/{link.id}", f"/links/{link.id}/live"):
        answer = await bob.get(path)
        assert (answer.status_code, "Adas" in answer.text) == (404, False)
    for path in ("/links/no-id", "/links/01a1ff80-41f1-7799-bb38-42da4aa822bb/live"):
        assert (await ada.get(path)).status_code == 404
    assert (await nobody.get(f"/links/{link.id}")).headers["location"] == f"/login?next=/links/{link.id}"
    for path in ("/stats/live", f"/links/{link.id}/live"):  # a browser does not try again: it is no stream of events
        assert (await nobody.get(path)).headers["location"] == f"/login?next={path}"
    assert "No clicks yet" in words((await bob.get("/stats")).text)


async def test_hostile_texts_are_escaped(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    made = [
        await link_of(place, ada, title=text, destination_url=f"https://example.com/'>{HARM}")
        for text in TEXTS.values()
    ]
    clicks = [
        new_click(link, START - HOUR, referrer=f"https://{text}/", browser=text, platform=text)
        for link, text in zip(made, TEXTS.values(), strict=True)
    ]
    await fill(place.db, clicks)
    pages = [await ada.get(path) for path in ("/", "/stats", *(f"/links/{link.id}" for link in made))]
    for page in pages:
        assert page.status_code == 200
        scripts = re.findall(r"<script[^>]*>", page.text)
        assert all("src=" in tag or 'type="application/json"' in tag for tag in scripts)
        assert not re.search(
            r"<(?:iframe|base|img src=x|meta http-equiv)|<[^>]* (?:onload|onerror|onfocus)=", page.text
        )


@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Cairo"])
def test_the_comparison_is_as_long_and_directly_before(zone: str) -> None:
    """On the days around both changes of clocks, and in a leap year."""
    for begin in (
        datetime(2028, 2, 28, 17, 5, 9, tzinfo=UTC),
        datetime(2028, 4, 1, tzinfo=UTC),
        datetime(2028, 10, 27, tzinfo=UTC),
    ):
        for now in (begin + 4 * HOUR * step for step in range(18)):
            for name in time_range.PERIODS:
                dates = {"from": "2028-02-01", "to": "2028-02-27"} if name == "custom" else {}
                found = time_range.choose({"period": name, **dates}, Preferences(zone), since=begin, now=now)
                assert not found.form.errors
                assert found.query.buckets[0].start == found.query.range.start
                assert found.query.range.end <= now
                if name == "all" or found.comparison is None:
                    continue
                shown, comparison = found.query.range, found.comparison.range
                length, before = shown.end - shown.start, comparison.end - comparison.start
                slack = 2 * DAY if name == "12m" else 2.25 * HOUR
                assert abs(length - before) <= slack, (name, now)
                assert comparison.end <= shown.start or name == "12m"
    assert date(2027, 2, 28) == year_before(date(2028, 2, 29))


def test_yesterday_is_a_whole_day() -> None:
    """Of 23 hours, when clocks go forward."""
    now = datetime(2028, 3, 26, 22, 5, tzinfo=UTC)
    parameters = {"period": "yesterday", "timezone": "Europe/Berlin"}
    shown = time_range.choose(parameters, DEFAULT, since=now, now=now).query.range
    assert shown == (datetime(2028, 3, 25, 23, tzinfo=UTC), datetime(2028, 3, 26, 22, tzinfo=UTC))


def test_compares_with_a_year_earlier() -> None:
    """Until the same time of day. Before the 29th of February was the 28th."""
    for parameters, dates in (
        ({"period": "30d"}, "31 Jan – 28 Feb 2027"),  # noqa: RUF001
        ({"period": "custom", "from": "2028-02-01", "to": "2028-02-29"}, "1–28 Feb 2027"),  # noqa: RUF001
        ({"period": "all"}, ""),
    ):
        now = datetime(2028, 2, 29, 17, 5, 9, tzinfo=UTC)
        parameters |= {"compare": "previous_year", "timezone": "Europe/Berlin"}
        assert time_range.choose(parameters, DEFAULT, since=now, now=now).comparison_dates == dates
