"""Reports by email as a browser shows them: no wider than the window, and with contrasts that suffice."""

import base64
import itertools
from datetime import UTC, datetime
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser

from browser.test_access import AXE, IS_TOO_WIDE, look, show
from browser.watching import watched
from waypost.kit.preferences import Preferences
from waypost.resources.clicks.model import StatsTotals
from waypost.resources.clicks.stats.query import new_stats_query
from waypost.resources.clicks.stats.read import Statistics, ValueCount
from waypost.resources.statistics_reports import content, periods
from waypost.resources.statistics_reports.content import ReportEmail, ReportScope, ReportUrls
from waypost.resources.statistics_reports.model import ReportSubject

SITE = "https://go.example.com"


def email(period: periods.ReportPeriod) -> ReportEmail:
    zone = ZoneInfo("Europe/Berlin")
    days = periods.last_days(period, zone, datetime(2030, 1, 7, 12, tzinfo=UTC))
    before = periods.days_before(period, days.first)
    query = new_stats_query(days.range(zone), "day", zone.key)
    points = [StatsTotals(number * 7919 % 1000, number * 6007 % 500, number) for number, _ in enumerate(query.buckets)]
    total = StatsTotals(1_234_567, 765_432, 12)
    long, short = uuid4(), uuid4()
    lists = {
        "link": [ValueCount(long.hex, 700_000), ValueCount(short.hex, 3)],
        "referrer": [ValueCount("", 1_000_000), ValueCount("https://t.co", 20)],
        "country": [ValueCount("DE", 1_234_000), ValueCount("", 1)],
        "device": [ValueCount("mobile", 1_234_567)],
    }
    names = {long: (f"go.example.com/{'w' * 200}", ""), short: ("go.example.com/x", "")}
    earlier = Statistics(StatsTotals(1, 1, 0), [], {}, [], {})
    scope = ReportScope(uuid4(), ReportSubject(), f"Ada & {'W' * 70}", period, Preferences(zone.key))
    urls = ReportUrls(SITE, f"{SITE}/stats/reports/unsubscribe/x", f"{SITE}/stats/reports")
    return content.write(scope, days, before, query, Statistics(total, points, lists, [], names, earlier), urls, "")


@pytest.mark.parametrize("period", periods.PERIODS)
async def test_reads_well(chromium: Browser, period: periods.ReportPeriod) -> None:
    written = email(period)
    page = (await watched(chromium)).page
    await page.add_init_script(AXE)
    await page.goto("about:blank")
    image = base64.b64encode(written.draw()).decode()
    await page.set_content(written.html.replace("cid:picture", f"data:image/png;base64,{image}"))
    assert await page.evaluate("document.images[0].naturalWidth") == 1104
    assert "go.example.com/w" in written.text
    for width, colors in itertools.product((640, 390, 320), ("light", "dark")):
        await show(page, {"width": width, "height": 800}, colors)
        assert not await page.evaluate(IS_TOO_WIDE), width
        assert await look(page, rules=["color-contrast", "image-alt", "link-in-text-block"]) == []
