"""The whole service and a real browser: its tags, the events from the server, webhooks and clicks tell of one visit.

What the page does when a platform misbehaves is in test_firing; what needs no browser is in tests/journeys.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from journeys.service import Service, Website, eventually
from journeys.test_pixels import PERSON, clicks, make_pixel, platforms, post, receiver, service
from playwright.async_api import Browser
from resources.pixels.events.platforms import IDS, Platforms
from resources.webhooks.receiver import Receiver

from bench.platforms import SCRIPT_HOSTS
from bench.platforms import Platforms as Hosts
from browser.watching import Watched, watched

__all__ = ["platforms", "receiver", "service"]


@pytest.fixture
def hosts(ad_platforms: Hosts) -> Hosts:
    """Where the browser finds the platforms; `platforms` are their endpoints for servers."""
    return ad_platforms


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


def make_link(service: Service, website: Website, *pixels: dict[str, Any]) -> dict[str, Any]:
    return post(service, "/links", destination_url=website.url, pixel_ids=[pixel["id"] for pixel in pixels])


async def person(chromium: Browser, **headers: str) -> Watched:
    """Waits for the tags and not for the clock: the page of the tags leaves when their requests are answered."""
    visitor = await watched(chromium, user_agent=PERSON, extra_http_headers=headers)
    await visitor.page.add_init_script("window.setTimeout = () => 0")
    return visitor


async def follow(visitor: Watched, link: dict[str, Any], website: Website) -> None:
    await visitor.page.goto(f"http://{link['short_url']}", wait_until="commit")
    await visitor.page.wait_for_url(f"{website.url}/")
    assert await visitor.page.title() == "A page"


async def test_events_describe_the_same_visit(
    chromium, hosts, website, service: Service, receiver: Receiver, platforms: Platforms
) -> None:
    post(service, "/webhooks", url=receiver.url("/hook"), event_types=["link.clicked", "pixel.fired"])
    pixels = [make_pixel(service, name) for name in ("facebook", "tiktok")]
    link = make_link(service, website, *pixels)
    visitor = await person(chromium)
    await follow(visitor, link, website)

    reported = [each.envelope for each in receiver.wait_for("/hook", 3)]
    (seen,) = [each["data"]["id"] for each in reported if each["event"] == "link.clicked"]
    fired = [each["data"] for each in reported if each["event"] == "pixel.fired"]
    assert sorted((each["pixel_id"], each["visit_id"]) for each in fired) == sorted((one["id"], seen) for one in pixels)
    assert hosts.fired() == [
        ("facebook", IDS["facebook"], "PageView", seen),
        ("tiktok", IDS["tiktok"], "Pageview", seen),
    ]
    for pixel in pixels:
        (got,) = platforms.wait_for(pixel["platform"], 1)
        assert (got.answer, [event["event_id"] for event in got.events]) == (200, [seen])
        results = f"/api/v1/pixels/{pixel['id']}/results"
        eventually(lambda path=results: service.client.get(path).json()["data"]["sent"] == 1, every=1)
    assert [click["id"] for click in clicks(service, link)] == [seen]
    assert (len(receiver.received()), visitor.trouble) == (3, [])


async def test_a_deleted_pixel_fires_no_more(chromium, hosts, website, service: Service) -> None:
    gone, stays = make_pixel(service, "facebook"), make_pixel(service, "tiktok")
    link = make_link(service, website, gone, stays)
    visitor = await person(chromium)
    await follow(visitor, link, website)
    eventually(lambda: bool(clicks(service, link)), every=1)  # the news of the link, which drops its route, is over
    hosts.clear()
    await follow(visitor, link, website)
    assert [name for name, *_ in hosts.fired()] == ["facebook", "tiktok"]
    hosts.clear()
    assert service.client.delete(f"/api/v1/pixels/{gone['id']}").status_code == 204
    await follow(visitor, link, website)
    assert [name for name, *_ in hosts.fired()] == ["tiktok"]
    assert {url.partition("/")[0] for _, url in hosts.requests} == {SCRIPT_HOSTS["tiktok"]}
    assert visitor.trouble == []


async def test_who_asks_for_privacy_is_only_counted(
    chromium, hosts, website, service: Service, receiver: Receiver, platforms: Platforms
) -> None:
    post(service, "/webhooks", url=receiver.url("/hook"), event_types=["link.clicked", "pixel.fired"])
    link = make_link(service, website, make_pixel(service, "facebook"))
    private = await person(chromium, **{"Sec-GPC": "1"})
    arrived = await private.page.goto(f"http://{link['short_url']}")
    redirect = await arrived.request.redirected_from.response()
    assert (arrived.url, redirect.status) == (f"{website.url}/", 302)
    receiver.wait_for("/hook", 1)
    assert hosts.requests == []

    await follow(await person(chromium), link, website)  # what follows is of this visit only
    reported = [each.envelope for each in receiver.wait_for("/hook", 3)]
    assert sorted(each["event"] for each in reported) == ["link.clicked", "link.clicked", "pixel.fired"]
    (got,) = platforms.wait_for("facebook", 1)
    newest, _ = clicks(service, link)
    assert [event["event_id"] for event in got.events] == [event_id for *_, event_id in hosts.fired()] == [newest["id"]]
