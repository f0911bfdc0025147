"""The page of subscriptions, and the one that ends all reports to an address."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from browsing import WebApp, open_place
from resources.clicks.test_dashboard import link_of, words
from sqlalchemy import func, select

from waypost.audit.model import audit_entries
from waypost.resources.statistics_reports import service
from waypost.resources.statistics_reports.model import report_subscriptions
from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
from waypost.worker.jobs import jobs

PATH = "/stats/reports"
WEEKLY = {"period": "week"}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, smtp_url="smtp://127.0.0.1:9") as opened:
        yield opened


async def count(place: WebApp) -> int:
    async with place.db.read() as tx:
        return await tx.scalar(select(func.count()).select_from(report_subscriptions)) or 0


async def test_subscribes_and_ends(place: WebApp) -> None:
    ada, eve = await place.browser("ada@example.com"), await place.browser("eve@example.com")
    link = await link_of(place, ada, slug="spring", tags=["sale"])
    assert 'href="/stats/reports?tag=sale"' in (await ada.get("/stats?tag=sale")).text
    assert 'href="/stats/reports"' in (await ada.get("/stats?tag=-sale")).text
    assert f'href="/stats/reports?link_id={link.id}"' in (await ada.get(f"/links/{link.id}")).text
    assert "None yet." in words((await ada.get(PATH)).text)
    await ada.post("/account/timezone", {"timezone": "Asia/Tokyo"})
    page = await ada.get(f"{PATH}?tag=sale")
    assert '<option value="sale" selected>' in page.text
    assert "in your time zone (Asia/Tokyo)" in page.text
    assert "app.test/spring" in words((await ada.get(f"{PATH}?link_id={link.id}")).text)
    assert " checked><span>Attach" in (await ada.get(f"{PATH}?links=yes")).text
    assert "/stats/reports?links=yes" in (await ada.get("/account/data")).text
    for fields in ({"tag": ""}, {"tag": "sale", "period": "month", "links": "yes"}, {"link_id": str(link.id)}):
        answer = await ada.post(PATH, WEEKLY | fields)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{PATH}?done=report-subscribed")
    text = words((await ada.get(PATH)).text)
    assert "ada Weekly 7 Jan 2030 None yet" in text
    assert "Links tagged sale Monthly, with links as CSV 1 Feb 2030" in text
    assert "app.test/spring Weekly 7 Jan 2030" in text
    again = await ada.post(PATH, WEEKLY)
    assert (again.status_code, service.DUPLICATE in words(again.text)) == (422, True)
    wrong = await ada.post(PATH, {"period": "day", "tag": "no"})
    assert (wrong.status_code, wrong.text.count('class="error"')) == (422, 2)
    assert (await eve.post(PATH, WEEKLY | {"link_id": str(link.id)})).status_code == 404
    assert (await eve.get(f"{PATH}?link_id={link.id}")).status_code == 404
    first = re.findall(r'action="(/stats/reports/[^"]+/end)"', (await ada.get(PATH)).text)[0]
    assert (await eve.post(first)).status_code == 404
    assert (await ada.post(first)).headers["location"] == f"{PATH}?done=report-ended"
    assert (await ada.post(first)).status_code == 404
    assert await count(place) == 2
    async with place.db.read() as tx:
        entries = (await tx.execute(select(audit_entries.c.action, audit_entries.c.details))).all()
        assert (
            await tx.scalar(select(func.count()).select_from(jobs).where(jobs.c.name == "statistics_reports.send")) == 2
        )
    with_links = {"period": "month", "attaches_links": True}
    assert [entry.details for entry in entries if entry.action == "statistics_report.subscribed"].count(with_links) == 1
    assert [entry.details for entry in entries if entry.action == "statistics_report.ended"] == [WEEKLY]


async def test_a_person_has_so_many_subscriptions(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    made = [await link_of(place, ada) for _ in range(service.MAX_SUBSCRIPTIONS + 1)]
    statuses = [(await ada.post(PATH, WEEKLY | {"link_id": str(link.id)})).status_code for link in made]
    assert statuses == [303] * service.MAX_SUBSCRIPTIONS + [422]


async def test_unsubscribing_ends_all_reports_to_an_address(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    for browser in (ada, bob):
        for period in ("week", "month"):
            await browser.post(PATH, WEEKLY | {"period": period})
    path = UnsubscribeUrls.from_settings(place.settings).url("ada@example.com").removeprefix("http://app.test")
    nobody = await place.browser()
    page = await nobody.get(path)
    assert page.status_code == 200
    assert '<form class="form" method="post">' in page.text
    assert (await nobody.client.head(path)).status_code == 200
    assert await count(place) == 4, "a scanner of emails that opens links ends nothing"
    for _ in range(2):  # as mail services send it: from another origin, without cookies
        done = await nobody.client.post(path, data={"List-Unsubscribe": "One-Click"})
        assert (done.status_code, "You are unsubscribed" in done.text) == (200, True)
    assert await count(place) == 2
    assert "None yet." in words((await ada.get(PATH)).text)
    place.clock.move(timedelta(days=1))
    assert (await ada.post(PATH, WEEKLY)).status_code == 303
    assert await count(place) == 3


@pytest.mark.parametrize("token", ["x", "ä", "A" * 64, "%00", "A" * 4000])
async def test_a_wrong_token_ends_nothing(place: WebApp, token: str) -> None:
    nobody = await place.browser()
    path = f"{PATH}/unsubscribe/{token}"
    assert (await nobody.get(path)).status_code == (await nobody.client.post(path)).status_code == 404


def test_signatures_of_earlier_keys_are_valid() -> None:
    token = UnsubscribeUrls("", [b"old"]).url("Ada@example.com").rpartition("/")[2]
    assert UnsubscribeUrls("", [b"new", b"old"]).read(token) == UnsubscribeUrls("", [b"old"]).read(token)
