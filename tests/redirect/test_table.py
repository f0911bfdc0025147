"""R20, R21: bounded, never older than its source, and serving when the source is gone."""

import asyncio
from uuid import UUID

import pytest
from wire import Routes, route

from waypost.kit.errors import Unavailable
from waypost.redirect import TAGGED, ChangeFeed, RouteTable, new_route
from waypost.redirect.route import MISSING


def test_it_works(table: RouteTable, source: Routes) -> None:
    assert table.find(b"hello") == route()
    assert table.find(b"hello") == route()
    assert source.asked == [b"hello"]


def test_a_change_is_seen_by_the_next_hit(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    table.find(b"hello")
    source.routes[b"hello"] = route("https://example.com/new")
    feed.publish(["hello"])
    assert table.find(b"hello") == route("https://example.com/new")


def test_a_deletion_is_seen_by_the_next_hit(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    table.find(b"hello")
    del source.routes[b"hello"]
    feed.publish(["hello"])
    assert table.find(b"hello") is MISSING


def test_the_unknown_is_remembered_until_it_is_created(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    assert table.find(b"new") is MISSING
    assert table.find(b"new") is MISSING
    assert source.asked == [b"new"]
    source.routes[b"new"] = route()
    feed.publish(["new"])
    assert table.find(b"new") == route()


def test_too_much_missed_news_forgets_everything(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    table.find(b"hello")
    feed.publish(f"slug-{n:0250}" for n in range(1100))  # more than the ring holds
    assert len(table) == 1
    table.find(b"hello")
    assert source.asked == [b"hello", b"hello"]


def test_all_routes_with_tags_can_be_named_at_once(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    pixels = [(UUID(int=1), "facebook", "1")]
    source.routes[b"tagged"] = new_route(b"short.example", "https://example.com/", UUID(int=2), pixels=pixels)
    table.find(b"tagged")
    table.find(b"hello")
    source.routes = {b"tagged": route()}
    feed.publish([TAGGED.decode()])
    assert (table.find(b"tagged"), source.asked) == (route(), [b"tagged", b"hello", b"tagged"])
    assert table.find(b"hello") == route()  # in memory still


@pytest.mark.parametrize("capacity", [1_000, 20_000])
def test_it_is_bounded(source: Routes, feed: ChangeFeed, capacity: int) -> None:
    table = RouteTable(source, feed, capacity=capacity)
    for n in range(capacity * 3):
        source.routes[b"s%d" % n] = route()
        table.find(b"s%d" % n)
    assert capacity / 4 < len(table) <= capacity


def test_what_is_in_use_stays(source: Routes, feed: ChangeFeed) -> None:
    table = RouteTable(source, feed, capacity=5_000)
    for n in range(50_000):
        source.routes[b"s%d" % n] = route()
        table.find(b"s%d" % n)
        table.find(b"hello")
    assert source.asked.count(b"hello") == 1


def test_unknown_slugs_push_out_no_route(table: RouteTable, source: Routes) -> None:
    table.find(b"hello")
    for n in range(50_000):
        table.find(b"scan-%d" % n)
    table.find(b"hello")
    assert source.asked.count(b"hello") == 1


async def test_a_remote_source_is_asked_once_by_many(table: RouteTable, source: Routes) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    assert table.find(b"hello") is None
    waiting = [asyncio.create_task(table.load(b"hello")) for _ in range(50)]
    await asyncio.sleep(0)
    source.gate.set()
    assert await asyncio.gather(*waiting) == [route()] * 50
    assert source.asked == [b"hello"]
    assert table.find(b"hello") == route()


async def test_a_change_during_a_read_is_not_cached_over(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    reading = asyncio.create_task(table.load(b"hello"))
    while not source.asked:
        await asyncio.sleep(0)
    source.routes[b"hello"] = route("https://example.com/new")
    feed.publish(["hello"])
    table.find(b"other")  # any hit catches up
    source.gate.set()
    assert await reading == route()  # asked before the change
    assert await table.load(b"hello") == route("https://example.com/new")


async def test_one_waiter_giving_up_does_not_fail_the_others(table: RouteTable, source: Routes) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    first, second = (asyncio.create_task(table.load(b"hello")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    source.gate.set()
    assert await second == route()


async def test_when_every_waiter_gives_up_nothing_stale_is_left(table: RouteTable, source: Routes) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    waiting = asyncio.create_task(table.load(b"hello"))
    while not source.asked:
        await asyncio.sleep(0)
    waiting.cancel()
    source.gate.set()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.sleep(0)
    assert table._loading == {}


async def test_without_its_source_it_serves_what_it_has(table: RouteTable, source: Routes) -> None:
    source.is_embedded = False
    await table.load(b"hello")
    source.is_gone = True
    table.distrust()
    assert await table.load(b"hello") == route()
    with pytest.raises(Unavailable):
        await table.load(b"never-seen")


async def test_distrust_asks_on_every_hit_until_trust(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    source.is_embedded = False
    await table.load(b"hello")
    table.distrust()
    source.routes[b"hello"] = route("https://example.com/elsewhere")  # changed on another machine, unheard
    assert table.find(b"hello") is None
    assert await table.load(b"hello") == route("https://example.com/elsewhere")
    source.routes[b"hello"] = route("https://example.com/again")
    assert await table.load(b"hello") == route("https://example.com/again")
    table.trust()
    assert await table.load(b"hello") == route("https://example.com/again")
    asked = len(source.asked)
    assert table.find(b"hello") == route("https://example.com/again")
    assert len(source.asked) == asked


@pytest.mark.parametrize(
    "bad", ["javascript:alert(1)", "https://a.example/\r\nX: y", "https://ä.example/", "ftp://a.b", "https://a b"]
)
def test_what_may_not_be_sent_becomes_no_route(bad: str) -> None:
    with pytest.raises(ValueError):
        route(bad)
