"""A plus after a link's address: a page that says where it leads, and is not a visit."""

import asyncio
import re
from itertools import islice
from uuid import UUID

import pytest
from wire import HOST, LINK, Previews, Routes, Wire, route

from waypost.redirect import ChangeFeed, HostTable, alias_change, disabled_host, metrics, new_alias, new_host

CUSTOM = b"go.brand.test"
NOT_FOUND = b"https://brand.test/nothing"
PAGE = b"<h1>Info</h1><title>" + LINK + b"</title>"
ALIASES = {"summer/sale": "hello", "c++": "own", "own+": "hello", "old": "expired", "old+": "expired"}


def get(path: str, host: bytes = HOST, *, method: str = "GET", more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {host.decode()}\r\n{more}\r\n".encode()


@pytest.fixture
def hosts(feed: ChangeFeed) -> HostTable:
    host = new_host(None, NOT_FOUND.decode(), has_aliases=True)
    return HostTable(Routes({CUSTOM: host}), feed, capacity=16)


@pytest.fixture
def source() -> Routes:
    own, unserved = route("https://example.com/own", host=CUSTOM), route(host=disabled_host(CUSTOM))
    return Routes({b"hello": route(), b"expired": route(expires_at=1.0), b"unserved": unserved, b"own": own})


@pytest.fixture
def alias_source() -> Routes:
    host, link = CUSTOM.decode(), UUID(LINK.decode())
    return Routes({alias_change(host, path).encode(): new_alias(CUSTOM, slug, link) for path, slug in ALIASES.items()})


SHOWN = {
    "a slug": get("/hello+"),
    "with a query": get("/hello+?utm_source=x"),
    "encoded": get("/hello%2B"),
    "of a bot": get("/hello+", more="User-Agent: ExampleBot/1.0\r\n"),
    "on its own domain": get("/%6fwn%2b+", CUSTOM),
    "an alias": get("/summer/sale+", CUSTOM),
    "an alias that ends with a plus": get("/c+++", CUSTOM),
}
MISSING = {
    "no link": get("/nothing+"),
    "an expired one": get("/expired+"),
    "one of another host": get("/own+"),
    "no alias here": get("/summer/sale+"),
    "two": get("/hello++"),
    "nothing": get("/+"),
    "a blank": get("/hello%20"),
    "no link on its domain": get("/nothing+", CUSTOM),
    "one that is not served": get("/unserved+", CUSTOM),
    "one of the shared domain": get("/hello+", CUSTOM),
    "an alias of an expired link": get("/old++", CUSTOM),
    "an alias with a plus of an expired link": get("/old+", CUSTOM),
}


@pytest.mark.parametrize("name", SHOWN)
async def test_shows_where_a_link_leads(name: str, fast: Wire, plain: Wire, visits) -> None:
    before = metrics.INFO_PAGE[0]
    for wire in (fast, fast, plain):  # the second time from memory
        answer = await wire.say(SHOWN[name])
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(PAGE)
        assert b"\r\nx-robots-tag: noindex\r\n" in answer
        assert b"\r\ncache-control: private, no-store\r\n" in answer
    assert metrics.INFO_PAGE[0] - before == 3
    assert visits() == []


@pytest.mark.parametrize("name", MISSING)
async def test_other_links_are_not_found(name: str, fast: Wire, plain: Wire, visits) -> None:
    """With the response of any unknown address."""
    unknown = get("/unknown", CUSTOM if b"\nHost: go.brand" in MISSING[name] else HOST)
    for wire in (fast, fast, plain):
        answer, expected = [await wire.say(request) for request in (MISSING[name], unknown)]
        assert _without_date(answer) == _without_date(expected)
        assert b"Link not found" in answer or b"\r\nlocation: " + NOT_FOUND + b"\r\n" in answer
    assert visits() == []


async def test_an_alias_with_that_path_wins(fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, fast, plain):
        answer = await wire.say(get("/own+", CUSTOM))
        assert b"\r\nlocation: https://example.com/\r\n" in answer
    assert len(visits()) == 3


async def test_head_returns_the_length(fast: Wire) -> None:
    answer = await fast.say(get("/hello+", method="HEAD"), bodies=False)
    assert b"\r\ncontent-length: %d\r\n" % len(PAGE) in answer


async def test_a_link_that_was_deleted_meanwhile_is_not_found(fast: Wire, previews: Previews) -> None:
    previews.has_link = False
    assert (await fast.say(get("/hello+"))).startswith(b"HTTP/1.1 404 ")


async def test_a_page_is_rendered_once_for_each_version_of_its_link(
    fast: Wire, plain: Wire, previews: Previews, source: Routes, feed: ChangeFeed
) -> None:
    for path in ("/hello+", "/hello+", "/hello%2B"):
        for wire in (fast, plain):
            assert (await wire.say(get(path))).endswith(PAGE)
    assert previews.pages_asked == 1
    source.routes[b"hello"] = route("https://example.com/new")
    feed.publish(["hello"])
    previews.has_link = False
    assert (await fast.say(get("/hello+"))).startswith(b"HTTP/1.1 404 ")


async def test_responds_503_without_the_database(fast: Wire, previews: Previews) -> None:
    previews.is_gone = True
    answer = await fast.say(get("/hello+"))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 1\r\n" in answer


async def test_few_pages_are_loaded_at_once(fast: Wire, previews: Previews) -> None:
    """Further readers get 503, and bots their previews."""
    previews.gate = asyncio.Event()
    answers = [asyncio.create_task(fast.say(get("/hello+"))) for _ in range(4 + 64 + 3)]
    for answer in islice(asyncio.as_completed(answers), 3):
        assert (await answer).startswith(b"HTTP/1.1 503 ")
    assert previews.waiting == 4
    bot = asyncio.create_task(fast.say(get("/hello", more="User-Agent: ExampleBot/1.0\r\n")))
    previews.gate.set()
    assert (await bot).endswith(LINK + b"</title>")
    assert sum(answer.endswith(PAGE) for answer in await asyncio.gather(*answers)) == 4 + 64


def _without_date(answer: bytes) -> bytes:
    return re.sub(rb"date: .*\r\n", b"", answer, count=1)
