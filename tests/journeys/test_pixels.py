"""A customer attaches pixels to a link: its page fires them, and platforms and the customer's webhooks get events.

The browser's part of it, in a real browser, is in tests/browser.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from journeys.service import Service, Website, eventually
from resources.pixels.events.platforms import HANGS, IDS, TOKENS, Platforms
from resources.webhooks.receiver import Receiver

PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with Receiver(tmp_path) as running:
        yield running


@pytest.fixture
def platforms() -> Iterator[Platforms]:
    with Platforms() as running:
        yield running


@pytest.fixture
def service(tmp_path: Path, receiver: Receiver, platforms: Platforms) -> Iterator[Service]:
    urls = {f"WAYPOST_{name}_URL": platforms.url for name in ("META", "TIKTOK", "PINTEREST")}
    with Service(tmp_path, WAYPOST_OUTBOUND_CA_FILE=str(receiver.ca_file), **urls) as running:
        yield running


def post(service: Service, path: str, **fields: Any) -> dict[str, Any]:
    answer = service.client.post(f"/api/v1{path}", json=fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def make_pixel(service: Service, platform: str, *, token: str | None = "") -> dict[str, Any]:
    given = {"access_token": TOKENS.get(platform) if token == "" else token}
    return post(service, "/pixels", platform=platform, name=platform, pixel_id=IDS.get(platform, "AW-1"), **given)


def make_link(service: Service, *pixels: dict[str, Any]) -> dict[str, Any]:
    with Website() as page:
        return post(service, "/links", destination_url=page.url, pixel_ids=[pixel["id"] for pixel in pixels])


def visit(service: Service, link: dict[str, Any], **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return service.client.get(f"/{link['slug']}", headers={"User-Agent": PERSON} | named)


def visit_id(page: httpx.Response) -> str:
    """As the page tells the platforms' scripts."""
    assert page.status_code == 200, page.text
    found = re.search(r'"visit":"([0-9a-f]{32})"', page.text)
    assert found, page.text
    return str(UUID(found[1]))


def clicks(service: Service, link: dict[str, Any]) -> list[dict[str, Any]]:
    return service.client.get(f"/api/v1/links/{link['id']}/clicks").json()["data"]


def test_fired_pixels_reach_platforms_and_webhooks(service: Service, receiver: Receiver, platforms: Platforms) -> None:
    post(service, "/webhooks", url=receiver.url("/hook"), event_types=["link.clicked", "pixel.fired"])
    one, other = make_pixel(service, "facebook"), make_pixel(service, "pinterest")
    link = make_link(service, one, other)
    seen = visit_id(visit(service, link, Referer="https://from.example/page?q=1"))

    reported = [each.envelope for each in receiver.wait_for("/hook", 3)]
    (clicked,) = [each for each in reported if each["event"] == "link.clicked"]
    fired = [each["data"] for each in reported if each["event"] == "pixel.fired"]
    assert clicked["data"]["id"] == seen
    assert {each["visit_id"] for each in fired} == {seen}
    assert {(each["pixel_id"], each["platform"]) for each in fired} == {
        (one["id"], "facebook"),
        (other["id"], "pinterest"),
    }
    for platform in ("facebook", "pinterest"):
        (got,) = platforms.wait_for(platform, 1)
        (event,) = got.events
        assert (got.answer, event["event_id"]) == (200, seen)
        assert event["event_source_url"] == f"{service.base_url}/{link['slug']}"
        assert event["user_data"] == {"client_ip_address": "127.0.0.1", "client_user_agent": PERSON}
    assert [click["id"] for click in clicks(service, link)] == [seen]


def test_who_asks_for_privacy_fires_nothing(service: Service, receiver: Receiver, platforms: Platforms) -> None:
    post(service, "/webhooks", url=receiver.url("/hook"), event_types=["link.clicked", "pixel.fired"])
    link = make_link(service, make_pixel(service, "tiktok"))
    assert visit(service, link, Sec_GPC="1").status_code == 302
    assert visit(service, link, DNT="1").status_code == 302
    visit(service, link, User_Agent=BOT)
    last = visit_id(visit(service, link))
    reported = [each.envelope for each in receiver.wait_for("/hook", 4)]
    assert sorted(each["event"] for each in reported) == ["link.clicked"] * 3 + ["pixel.fired"]
    (got,) = platforms.wait_for("tiktok", 1)
    assert [event["event_id"] for event in got.events] == [last]
    assert len(receiver.received()) == 4


def test_a_pixel_that_is_gone_stops_at_the_next_click(service: Service, platforms: Platforms) -> None:
    gone, stays = make_pixel(service, "facebook"), make_pixel(service, "tiktok")
    link = make_link(service, gone, stays)
    visit_id(visit(service, link))
    platforms.wait_for("facebook", 1)
    platforms.wait_for("tiktok", 1)
    assert service.client.delete(f"/api/v1/pixels/{gone['id']}").status_code == 204
    visit_id(visit(service, link))
    platforms.wait_for("tiktok", 2)
    assert service.client.delete(f"/api/v1/pixels/{stays['id']}").status_code == 204
    assert visit(service, link).status_code == 302
    eventually(lambda: len(clicks(service, link)) == 3, every=1)
    assert len(platforms.received("facebook")) == 1


def test_platform_that_is_down_gets_its_events_later(service: Service, platforms: Platforms) -> None:
    platforms.will("facebook", HANGS)
    platforms.will("pinterest", 500)
    link = make_link(service, *(make_pixel(service, platform) for platform in ("facebook", "pinterest", "tiktok")))
    seen = visit_id(visit(service, link))
    platforms.wait_for("tiktok", 1)
    assert [got.answer for got in platforms.wait_for("facebook", 2)] == [0, 200]
    assert [got.answer for got in platforms.wait_for("pinterest", 2)] == [500, 200]
    for platform in ("facebook", "pinterest"):
        assert {event["event_id"] for got in platforms.received(platform) for event in got.events} == {seen}


def test_what_is_secret_stays_so(service: Service, platforms: Platforms) -> None:
    wrong = "EAAB-not-the-token-0123456789"
    pixel = make_pixel(service, "facebook", token=wrong)
    link = make_link(service, pixel)
    page = visit(service, link)
    (got,) = platforms.wait_for("facebook", 1)
    assert got.answer == 401
    database = service.directory / "data" / "waypost.db"

    def reason() -> str:
        with closing(sqlite3.connect(database)) as connection:
            row = connection.execute("SELECT reason FROM pixel_results").fetchone()
        return row[0] if row else ""

    eventually(lambda: bool(reason()))
    assert "Malformed access token" in reason()
    shown = [page.text, reason(), str(pixel), str(link), "".join(service.log.lines)]
    assert not [text for text in shown if wrong in text]
    service.stop()
    files = [path for path in (service.directory / "data").rglob("*") if path.is_file()]
    assert not [
        path for path in files if wrong.encode() in path.read_bytes() or IDS["facebook"].encode() in path.read_bytes()
    ]
    assert IDS["facebook"] not in "".join(service.log.lines)
    service.start()
