"""Requests for short links are counted by result, with their latency and the reads of the database."""

from uuid import UUID

import pytest
from measured import increases
from wire import HOST, LINK

from waypost.redirect import RedirectState, new_route
from waypost.redirect.state import WaitingResponses

RESULTS = "waypost_redirects_total "
LATENCY = "waypost_redirect_seconds"


def asks(path: bytes = b"/hello", *, agent: bytes = b"Mozilla/5.0", host: bytes = HOST) -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n" % (path, host, agent)


def results(increased: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix(RESULTS): value for name, value in increased.items() if name.startswith(RESULTS)}


async def test_counts_redirects_of_the_fast_path(fast, source) -> None:
    with increases() as increased:
        for _ in range(3):
            await fast.say(asks())
    assert results(increased) == {"redirected": 3}
    assert increased[f"{LATENCY}_count"] == 3
    assert 0 < increased[f"{LATENCY}_sum"] < 3
    assert increased["waypost_route_cache_misses_total"] == len(source.asked) == 1


async def test_counts_pipelined_requests_once_each(fast) -> None:
    with increases() as increased:
        await fast.say(asks() + asks(b"/other") + asks(), answers=3)
    assert results(increased) == {"redirected": 2, "not_found": 1}
    assert increased[f"{LATENCY}_count"] == 3


async def test_counts_unknown_links_on_both_paths(fast) -> None:
    with increases() as increased:
        await fast.say(asks(b"/nothing"))
        await fast.say(asks(host=b"other.example"))
    assert results(increased) == {"not_found": 2}
    assert increased[f"{LATENCY}_count"] == 2


@pytest.mark.parametrize(("has_link", "result"), [(True, "preview"), (False, "not_found")])
async def test_counts_previews(fast, previews, has_link: bool, result: str) -> None:
    previews.has_link = has_link
    with increases() as increased:
        await fast.say(asks(agent=b"ExampleBot/1.0"))
    assert results(increased) == {result: 1}


@pytest.mark.parametrize("is_split", [False, True])
async def test_counts_pages_with_pixels(fast, source, is_split: bool) -> None:
    pixels = [(UUID(int=1), "facebook", "1234567890")]
    source.routes[b"shop"] = new_route(HOST, "https://example.com/", UUID(LINK.decode()), pixels=pixels)
    request = asks(b"/shop")
    with increases() as increased:
        await fast.say(*((request[:9], request[9:]) if is_split else (request,)))
        await fast.say(asks())
    assert results(increased) == {"pixel_page": 1, "redirected": 1}


async def test_counts_requests_without_the_database(fast, source) -> None:
    source.is_gone = True
    with increases() as increased:
        await fast.say(asks())
    assert results(increased) == {"unavailable": 1}


async def test_requests_of_the_application_are_not_counted(fast) -> None:
    with increases() as increased:
        await fast.say(asks(b"/api/v1/links"))
    assert results(increased) == {}


async def test_the_time_of_a_batch_counts_for_each_of_its_visits(state: RedirectState) -> None:
    waiting = WaitingResponses()
    waiting.write = lambda _: setattr(state, "_time_ns", lambda: 2_000_000)
    state._time_ns = lambda: 0
    state.begin_batch()
    state.waiting_connections = [waiting, waiting]
    with increases() as increased:
        state.flush()
    assert increased[f"{LATENCY}_count"] == 2
    assert increased[f"{LATENCY}_sum"] == pytest.approx(0.004)
    assert increased[f"{LATENCY}_bucket 0.0025"] == 2
    assert f"{LATENCY}_bucket 0.001" not in increased
