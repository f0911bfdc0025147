"""R20, R21: bounded, never older than its source, and serving when the source is gone."""

import asyncio
import gc
import sys
from collections.abc import Callable
from uuid import UUID

import pytest
from wire import HOST, Routes, route

from waypost.kit.errors import Unavailable
from waypost.redirect import (
    ChangeFeed,
    Route,
    RouteOptions,
    RouteTable,
    disabled_host,
    host_change,
    new_route,
    pixel_change,
)
from waypost.redirect import table as table_module
from waypost.redirect.route import MISSING, location_of


def test_loads_a_route_once(table: RouteTable, source: Routes) -> None:
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


def test_caches_an_unknown_slug_until_it_is_created(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    assert table.find(b"new") is MISSING
    assert table.find(b"new") is MISSING
    assert source.asked == [b"new"]
    source.routes[b"new"] = route()
    feed.publish(["new"])
    assert table.find(b"new") == route()


def test_clears_the_table_after_too_many_missed_changes(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    table.find(b"hello")
    feed.publish(f"slug-{n:0250}" for n in range(1100))  # more than the ring holds
    assert len(table) == 1
    table.find(b"hello")
    assert source.asked == [b"hello", b"hello"]


PIXEL, OTHER = UUID(int=1), UUID(int=2)
CUSTOM = b"go.brand.test"


def with_pixels(*pixels: UUID, destination: str = "https://example.com/", host: bytes = HOST) -> Route:
    return new_route(host, destination, UUID(int=9), pixels=[(pixel, "facebook", "1") for pixel in pixels])


@pytest.mark.parametrize(
    ("changed", "forgotten"),
    [
        (pixel_change(PIXEL), {b"one", b"both", b"unfired"}),
        (pixel_change(OTHER), {b"both", b"custom"}),
        (host_change("go.brand.test"), {b"custom", b"disabled_host"}),
        (host_change("brand.test"), set()),
    ],
)
def test_a_change_of_a_host_or_pixel_affects_its_routes(
    table: RouteTable, source: Routes, feed: ChangeFeed, changed: str, forgotten: set[bytes]
) -> None:
    """The next hit of each that depends on it asks the source; no other does."""
    source.routes |= {
        b"one": with_pixels(PIXEL),
        b"both": with_pixels(OTHER, PIXEL),
        b"unfired": new_route(HOST, "https://example.com/", UUID(int=9), pixels=[(PIXEL, "facebook", None)]),
        b"custom": with_pixels(OTHER, host=CUSTOM),
        b"disabled_host": route(host=disabled_host(CUSTOM)),
    }
    for slug in source.routes:
        table.find(slug)
    feed.publish(["another", pixel_change(UUID(int=3))])
    source.routes = {slug: route("https://example.com/new") for slug in source.routes}
    source.asked.clear()
    feed.publish([changed])
    for slug in source.routes:
        for _ in range(2):
            assert (table.find(slug) == route("https://example.com/new")) == (slug in forgotten)
    assert set(source.asked) == forgotten
    assert len(source.asked) == len(forgotten)


def test_keeps_routes_loaded_after_a_change(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    source.routes[b"one"] = with_pixels(PIXEL)
    for _ in range(3):
        feed.publish([pixel_change(PIXEL)])
        table.find(b"one")
        feed.publish([pixel_change(OTHER)])
        table.find(b"one")
    assert source.asked == [b"one"] * 3


@pytest.mark.parametrize("message", [pixel_change(PIXEL), host_change(CUSTOM.decode())])
def test_a_change_costs_the_same_however_many_routes_are_in_memory(
    source: Routes, feed: ChangeFeed, message: str
) -> None:
    """R39. Counted in lines and calls, which do not depend on the machine."""
    counts = []
    for routes in (10, 5_000):
        table = RouteTable(source, feed, capacity=100_000, shared_host=HOST)
        source.routes = {b"s%d" % n: with_pixels(PIXEL, host=CUSTOM) for n in range(routes)}
        for slug in source.routes:
            table.find(slug)
        feed.publish([message])
        steps = 0

        def count(*_event: object) -> Callable[..., object]:
            nonlocal steps
            steps += 1
            return count

        before = sys.gettrace()
        gc.collect()
        gc.disable()  # finalizers of other tests' objects would count
        sys.settrace(count)
        table.find(b"s1")
        sys.settrace(before)
        gc.enable()
        counts.append(steps)
        assert len(table) == routes
    assert counts[0] == counts[1]
    assert source.asked.count(b"s1") == 4, "read twice by each table"


def test_bounds_the_remembered_changes(
    table: RouteTable, source: Routes, feed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the bound everything that depends on something is asked for again, and nothing else."""
    monkeypatch.setattr("waypost.redirect.table._MAX_CHANGES", 100)
    source.routes[b"one"] = with_pixels(PIXEL)
    for slug in (b"hello", b"one"):
        table.find(slug)
    source.asked.clear()
    feed.publish([pixel_change(PIXEL)])
    source.routes[b"one"] = route("https://example.com/new", host=CUSTOM)
    feed.publish(pixel_change(UUID(int=n)) for n in range(100, 300))
    for slug in (b"hello", b"one"):
        for _ in range(2):
            table.find(slug)
    assert source.asked == [b"one"]
    assert len(table._changed) <= 100


async def test_a_pixel_s_change_during_a_read_is_not_cached_over(
    table: RouteTable, source: Routes, feed: ChangeFeed
) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    source.routes[b"one"] = with_pixels(PIXEL)
    reading = asyncio.create_task(table.load(b"one"))
    while not source.asked:
        await asyncio.sleep(0)
    source.routes[b"one"] = route()
    feed.publish([pixel_change(PIXEL)])
    source.gate.set()
    assert await reading == with_pixels(PIXEL)  # asked before the change
    assert await table.load(b"one") == route()


async def test_never_serves_a_changed_route_without_the_source(
    table: RouteTable, source: Routes, feed: ChangeFeed
) -> None:
    source.is_embedded = False
    source.routes[b"one"] = with_pixels(PIXEL)
    await table.load(b"one")
    source.is_gone = True
    table.mark_feed_lost()
    assert await table.load(b"one") == with_pixels(PIXEL)
    table.invalidate(pixel_change(PIXEL).encode())
    with pytest.raises(Unavailable):
        await table.load(b"one")


@pytest.mark.parametrize("capacity", [1_000, 20_000])
@pytest.mark.parametrize("kinds", [[HOST], [CUSTOM], [HOST, CUSTOM]])
def test_holds_at_most_its_capacity(source: Routes, feed: ChangeFeed, capacity: int, kinds: list[bytes]) -> None:
    table = RouteTable(source, feed, capacity=capacity, shared_host=HOST)
    for n in range(capacity * 3):
        source.routes[b"s%d" % n] = route(host=kinds[n % len(kinds)])
        table.find(b"s%d" % n)
    assert capacity / 4 < len(table) <= capacity


def test_routes_with_large_rules_count_several_times(source: Routes, feed: ChangeFeed) -> None:
    table, size = RouteTable(source, feed, capacity=20_000, shared_host=HOST), 100_000
    large = new_route(HOST, "https://example.com/", UUID(int=9), options=RouteOptions(json_size=size))
    for n in range(10_000):
        source.routes[b"s%d" % n] = large
        table.find(b"s%d" % n)
    assert len(table) < 20_000 / (size / 1_024) * 3


@pytest.mark.parametrize("host", [HOST, CUSTOM])
def test_keeps_routes_in_use(source: Routes, feed: ChangeFeed, host: bytes) -> None:
    table = RouteTable(source, feed, capacity=5_000, shared_host=HOST)
    source.routes[b"hello"] = route(host=host)
    for n in range(50_000):
        source.routes[b"s%d" % n] = route()
        table.find(b"s%d" % n)
        table.find(b"hello")
    assert source.asked.count(b"hello") == 1


def test_unknown_slugs_evict_no_route(table: RouteTable, source: Routes) -> None:
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


async def test_a_cancelled_waiter_does_not_fail_the_others(table: RouteTable, source: Routes) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    first, second = (asyncio.create_task(table.load(b"hello")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    source.gate.set()
    assert await second == route()


async def test_nothing_stale_stays_after_all_waiters_cancel(table: RouteTable, source: Routes) -> None:
    source.is_embedded, source.gate = False, asyncio.Event()
    waiting = asyncio.create_task(table.load(b"hello"))
    while not source.asked:
        await asyncio.sleep(0)
    waiting.cancel()
    source.gate.set()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.sleep(0)
    assert table._loading == {}


async def test_serves_cached_routes_without_the_source(table: RouteTable, source: Routes) -> None:
    source.is_embedded = False
    await table.load(b"hello")
    source.is_gone = True
    table.mark_feed_lost()
    assert await table.load(b"hello") == route()
    with pytest.raises(Unavailable):
        await table.load(b"never-seen")


async def test_asks_the_source_while_the_feed_is_lost(table: RouteTable, source: Routes, feed: ChangeFeed) -> None:
    source.is_embedded = False
    await table.load(b"hello")
    table.mark_feed_lost()
    source.routes[b"hello"] = route("https://example.com/elsewhere")  # changed on another machine, unheard
    assert table.find(b"hello") is None
    assert await table.load(b"hello") == route("https://example.com/elsewhere")
    source.routes[b"hello"] = route("https://example.com/again")
    assert await table.load(b"hello") == route("https://example.com/again")
    table.mark_feed_restored()
    assert await table.load(b"hello") == route("https://example.com/again")
    asked = len(source.asked)
    assert table.find(b"hello") == route("https://example.com/again")
    assert len(source.asked) == asked


async def test_serves_from_memory_again_when_late_changes_have_come(
    table: RouteTable, source: Routes, feed: ChangeFeed
) -> None:
    source.is_embedded = False
    source.routes[b"other"] = route()
    await table.load(b"hello")
    await table.load(b"other")
    table.mark_feed_lost()
    assert table.find(b"hello") is None
    table.invalidate(b"hello")  # it was late
    table.mark_feed_complete()
    assert table.find(b"hello") is None
    assert table.find(b"other") == route()


async def test_a_silent_source_delays_one_visitor_at_a_time(
    table: RouteTable, source: Routes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "_SOURCE_TIMEOUT", 0.01)
    monkeypatch.setattr(table_module, "_SOURCE_PAUSE", 0)
    source.is_embedded = False
    await table.load(b"hello")
    table.mark_feed_lost()
    source.gate = asyncio.Event()
    assert await table.load(b"hello") == route()
    with pytest.raises(Unavailable):
        await table.load(b"never-seen")
    monkeypatch.setattr(table_module, "_SOURCE_TIMEOUT", 60)
    monkeypatch.setattr(table_module, "_SOURCE_PAUSE", 60)
    table._source_failed_at = float("-inf")
    trying = asyncio.create_task(table.load(b"hello"))
    await asyncio.sleep(0)
    assert await table.load(b"hello") == route()  # it does not wait for the other
    source.routes[b"hello"] = route("https://example.com/new")
    table.invalidate(b"hello")
    source.gate.set()
    assert await trying == route()
    assert await table.load(b"hello") == route("https://example.com/new")


@pytest.mark.parametrize(
    "bad", ["javascript:alert(1)", "https://a.example/\r\nX: y", "https://ä.example/", "ftp://a.b", "https://a b"]
)
def test_rejects_an_invalid_location(bad: str) -> None:
    with pytest.raises(ValueError):
        route(bad)


def test_a_destination_may_have_its_scheme_in_upper_case() -> None:
    assert location_of(new_route(HOST, "HTTPS://example.com/", UUID(int=9))) == b"HTTPS://example.com/"
