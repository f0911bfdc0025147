"""Redirects by alias: after the slug, only on hosts that have some, for any path, and as current as those by slug."""

from urllib.parse import quote
from uuid import UUID

import pytest
from wire import HOST, LINK, Routes, Wire, route

from waypost.kit.errors import Unavailable
from waypost.redirect import AliasTable, ChangeFeed, HostTable, RouteTable, alias_change, new_alias, new_host, new_route
from waypost.redirect.route import MISSING

CUSTOM, BARE = b"go.brand.test", b"bare.test"
ID = UUID(LINK.decode())
OTHER = UUID(int=7)
PATHS = [
    "sale",
    "Sale",
    "summer/sale",
    "sale/",
    "a.b",
    "😀",
    "a b",
    "100%",
    "what?",
    "é",
    "e\u0301",
    "x" * 1024,
    "😀" * 1024,
]


def get(path: str, host: bytes = CUSTOM, *, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: ".encode() + host + b"\r\n\r\n"


def location(answer: bytes) -> bytes:
    lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return next((line[10:] for line in lines if line.startswith(b"location: ")), lines[0][9:12])


def key(path: str, host: bytes = CUSTOM) -> bytes:
    return alias_change(host.decode(), path).encode()


@pytest.fixture
def known() -> Routes:
    rows = {CUSTOM: new_host(None, None, has_aliases=True), BARE: new_host(None, None)}
    return Routes(rows, is_embedded=False)


@pytest.fixture
def hosts(known: Routes, feed: ChangeFeed) -> HostTable:
    return HostTable(known, feed, capacity=512)


@pytest.fixture
def source() -> Routes:
    own = route("https://example.com/own", host=CUSTOM)
    return Routes({b"hello": route("https://example.com/hello"), b"own": own})


@pytest.fixture
def alias_source() -> Routes:
    return Routes({key(path): new_alias(CUSTOM, "hello", ID) for path in PATHS})


@pytest.mark.parametrize("path", PATHS)
async def test_both_paths_answer_each_alias_alike(path: str, fast: Wire, plain: Wire, visits) -> None:
    asked = get("/" + quote(path))
    for wire in (fast, fast, plain):  # the second time from memory
        assert location(await wire.say(asked)) == b"https://example.com/hello"
    assert [visit.link for visit in visits()] == [LINK] * 3


@pytest.mark.parametrize(
    "path",
    ["SALES", "sale%2F%2F%2F", "summer%2Fsale%2F%2F", "/sale", "", "%73ale2", "s%C3%A4le", "a%2Bb", "%FF", "😀" * 1025],
)
async def test_other_paths_are_not_found(path: str, fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, fast, plain):
        assert location(await wire.say(get("/" + quote(path, safe="%/")))) == b"404"
    assert not visits()


async def test_percent_decodes_the_path(fast: Wire, plain: Wire) -> None:
    for wire in (fast, fast, plain):
        for path in ("/%73ale", "/summer%2Fsale", "/%53ale?x=y"):
            assert location(await wire.say(get(path))) == b"https://example.com/hello"


async def test_an_alias_is_of_one_host(fast: Wire, plain: Wire, alias_source: Routes) -> None:
    for wire in (fast, plain):
        for host in (HOST, BARE, b"unknown.test"):
            assert location(await wire.say(get("/sale", host))) == b"404"
    assert not alias_source.asked, "those hosts have no aliases"


@pytest.mark.parametrize("path", ["/own", "/%6fwn"])
@pytest.mark.parametrize("is_expired", [False, True])
async def test_the_own_slug_wins(
    path: str, is_expired: bool, fast: Wire, plain: Wire, source: Routes, alias_source: Routes
) -> None:
    alias_source.routes[key("own")] = new_alias(CUSTOM, "hello", ID)
    if is_expired:
        source.routes[b"own"] = route("https://example.com/own", host=CUSTOM, expires_at=1.0)
    for wire in (fast, fast, plain):
        expected = b"404" if is_expired else b"https://example.com/own"
        assert location(await wire.say(get(path))) == expected
    assert not alias_source.asked


async def test_follows_each_change_of_the_link(
    fast: Wire, source: Routes, alias_source: Routes, feed: ChangeFeed
) -> None:
    asked = get("/sale")
    assert location(await fast.say(asked)) == b"https://example.com/hello"
    source.routes[b"hello"] = route("https://example.com/new")
    feed.publish(["hello"])
    assert location(await fast.say(asked)) == b"https://example.com/new"
    source.routes[b"hello"] = route("https://example.com/new", expires_at=1.0)
    feed.publish(["hello"])
    assert location(await fast.say(asked)) == b"404"
    assert len(alias_source.asked) == 1
    # the link gets another slug, and another link gets its slug
    source.routes |= {
        b"renamed": route("https://example.com/renamed"),
        b"hello": new_route(HOST, "https://x.test/", OTHER),
    }
    alias_source.routes[key("sale")] = new_alias(CUSTOM, "renamed", ID)
    feed.publish(["hello", "renamed"])
    for _ in range(2):
        assert location(await fast.say(asked)) == b"https://example.com/renamed"
    assert len(alias_source.asked) == 2
    del source.routes[b"renamed"], alias_source.routes[key("sale")]
    feed.publish(["renamed"])
    assert location(await fast.say(asked)) == b"404"


async def test_a_new_alias_and_a_deleted_one_count_at_once(
    fast: Wire, known: Routes, alias_source: Routes, feed: ChangeFeed
) -> None:
    known.routes[CUSTOM] = new_host(None, None)
    asked = get("/new")
    assert location(await fast.say(asked)) == b"404"
    known.routes[CUSTOM] = new_host(None, None, has_aliases=True)
    feed.publish([CUSTOM.decode()])
    assert location(await fast.say(asked)) == b"404"
    alias_source.routes[key("new")] = new_alias(CUSTOM, "hello", ID)
    feed.publish([CUSTOM.decode()])
    assert location(await fast.say(asked)) == b"https://example.com/hello"
    del alias_source.routes[key("new")]
    feed.publish([alias_change(CUSTOM.decode(), "new")])
    assert location(await fast.say(asked)) == b"404"


async def test_a_new_slug_wins_over_an_alias_in_memory(
    fast: Wire, plain: Wire, source: Routes, feed: ChangeFeed
) -> None:
    for wire in (fast, plain):
        assert location(await wire.say(get("/sale"))) == b"https://example.com/hello"
    source.routes[b"sale"] = route("https://example.com/slug", host=CUSTOM)
    feed.publish(["sale"])
    for wire in (fast, plain):
        assert location(await wire.say(get("/sale"))) == b"https://example.com/slug"


async def test_an_alias_in_memory_redirects_without_the_database(
    aliases: AliasTable, table: RouteTable, hosts: HostTable, source: Routes, alias_source: Routes, known: Routes
) -> None:
    source.is_embedded = alias_source.is_embedded = False
    assert await table.load(b"sale") is MISSING
    found = await aliases.load_link(CUSTOM, b"sale")
    assert aliases.find_link(CUSTOM, b"sale") == found == route("https://example.com/hello")
    source.is_gone = alias_source.is_gone = known.is_gone = True
    for each in (table, aliases, hosts):
        each.mark_feed_lost()
    assert await table.load(b"sale") is MISSING
    assert await aliases.load_link(CUSTOM, b"sale") == found
    with pytest.raises(Unavailable):
        await table.load(b"another")


async def test_a_path_without_alias_is_looked_up_once(aliases: AliasTable, alias_source: Routes) -> None:
    for _ in range(3):
        assert await aliases.load_link(CUSTOM, b"nothing/here") is MISSING
        assert await aliases.load_link(CUSTOM, b"") is MISSING
        assert await aliases.load_link(CUSTOM, b"x" * 5_000) is MISSING
    assert len(alias_source.asked) == 1


@pytest.mark.parametrize("capacity", [1_024, 20_000])  # the shard of the hit takes two of a round
async def test_routes_and_aliases_share_a_capacity(
    capacity: int, source: Routes, alias_source: Routes, hosts: HostTable, feed: ChangeFeed
) -> None:
    table = RouteTable(source, feed, capacity=capacity, shared_host=HOST)
    of_aliases = AliasTable(alias_source, feed, hosts, table)
    source.asked.clear()
    for n in range(capacity * 2):
        source.routes[b"s%d" % n] = route()
        alias_source.routes[key(str(n))] = new_alias(CUSTOM, "hello", ID)
        table.find(b"s%d" % n)
        of_aliases.find(key(str(n)))
        table.find(b"hello")
    assert capacity / 4 < len(table) + len(of_aliases) <= capacity
    assert next(iter(table.gauges())).value == len(table) + len(of_aliases)
    assert source.asked.count(b"hello") == 1, "routes in use stay"
