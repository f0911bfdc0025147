"""Visits of links with routing: rules and variants, start, expiry and fallback, with all that links have besides."""

from uuid import UUID

import pytest
from wire import HOST, LINK, Routes, Wire

from waypost.redirect import DISABLED, NEVER, ClickLimit, Route, RouteOptions, new_route
from waypost.redirect.routing.compiled import compile_routing
from waypost.redirect.spool import Visit, decode, encode

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
OWN, STORE, GERMAN, FALLBACK = (f"https://example.com/{name}" for name in ("own", "store", "de", "later"))
RULES = [
    {"name": "iPhone", "conditions": [{"type": "platform", "values": ["iOS"]}], "destination_url": STORE},
    {"name": "French", "conditions": [{"type": "language", "values": ["fr"]}], "destination_url": STORE},
    {"name": "Grüße", "conditions": [{"type": "country", "values": ["DE"]}], "destination_url": GERMAN},
]
PIXELS = [(UUID(int=7), "facebook", "123")]


def routed(expires_at: float = NEVER, *, starts_at: float = 0.0, pixels: bool = False) -> Route:
    of_link = RouteOptions(compile_routing(RULES, []), starts_at, FALLBACK.encode())
    return new_route(HOST, OWN, UUID(LINK.decode()), expires_at, PIXELS if pixels else [], of_link)


def split() -> Route:
    halves = [{"name": name, "weight": 50, "destination_url": f"https://example.com/{name}"} for name in "AB"]
    return new_route(HOST, OWN, UUID(LINK.decode()), options=RouteOptions(compile_routing([], halves)))


@pytest.fixture
def source() -> Routes:
    only_fallback = RouteOptions(fallback=FALLBACK.encode())
    return Routes(
        {
            b"rules": routed(),
            b"pixels": routed(pixels=True),
            b"variants": split(),
            b"early": routed(starts_at=NEVER),
            b"expired": routed(1.0),
            b"disabled": routed(DISABLED),
            b"later": new_route(HOST, OWN, UUID(LINK.decode()), 1.0, options=only_fallback),
            b"limited": limited(8),
            b"limited-rules": limited(9, routing=compile_routing(RULES, [])),
            b"plain": new_route(HOST, OWN, UUID(LINK.decode()), options=only_fallback),
        }
    )


def limited(slug_id: int, **fields) -> Route:
    of_link = RouteOptions(click_limit=ClickLimit(2, 1), fallback=FALLBACK.encode(), **fields)
    return new_route(HOST, OWN, UUID(int=slug_id), options=of_link)


def get(path: str, *, agent: str = FIREFOX, address: str = "192.0.2.9", method: str = "GET") -> bytes:
    headers = f"Host: {HOST.decode()}\r\nUser-Agent: {agent}\r\nX-Forwarded-For: {address}\r\n"
    return f"{method} /{path} HTTP/1.1\r\n{headers}\r\n".encode()


@pytest.mark.parametrize(
    ("request_", "destination", "target"),
    [
        (get("rules", agent=IPHONE, address="192.0.2.1"), STORE, "iPhone"),
        (get("rules?x=1", address="192.0.2.1"), GERMAN, "Grüße"),
        (get("rules", address="192.0.2.2"), OWN, "default"),
        (get("plain"), OWN, ""),
    ],
)
async def test_the_first_rule_that_matches_wins(
    request_: bytes, destination: str, target: str, fast: Wire, plain: Wire, visits
) -> None:
    for wire in (fast, fast, plain):  # the first one loads the countries
        assert _location(await wire.say(request_)) == destination
    assert [visit.target.decode() for visit in visits()] == [target] * 3


async def test_a_visitor_gets_one_variant(fast: Wire, plain: Wire, visits) -> None:
    found = {}
    for number in range(30):
        request = get("variants", address=f"198.51.100.{number}")
        [found[number]] = {_location(await wire.say(request)) for wire in (fast, fast, plain)}
    assert set(found.values()) == {"https://example.com/A", "https://example.com/B"}
    assert [visit.target.decode() for visit in visits()] == [url[-1] for url in found.values() for _ in range(3)]


async def test_pixels_fire_before_the_chosen_destination(fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, fast, plain):
        page = await wire.say(get("pixels", agent=IPHONE))
        assert b'{"to":"%s","pixels":[["facebook","123"]]' % STORE.encode() in page
        page = await wire.say(get("pixels"))
        assert b'{"to":"%s"' % OWN.encode() in page
    assert {(visit.target, visit.pixels[:1]) for visit in visits()} == {(b"iPhone", b"f"), (b"default", b"f")}


async def test_bots_get_the_page_of_the_link(fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, plain):
        answer = await wire.say(get("rules", agent="ExampleBot/1.0", address="192.0.2.1"))
        assert answer.endswith(LINK + b"</title>")
    assert [visit.target for visit in visits()] == [b"default"] * 2


async def test_head_names_the_destination(fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, plain):
        answer = await wire.say(get("rules", method="HEAD", address="192.0.2.1"), bodies=False)
        assert _location(answer) == GERMAN
    assert visits() == []


@pytest.mark.parametrize(
    "header",
    [
        "Accept-Language: " + ",".join(f"a{number:x}" for number in range(12_000)),
        "Accept-Language: " + "de;q=0." + "9" * 60_000,
        "Accept-Language: " + "de-" * 20_000,
        'Sec-CH-UA-Platform: "iOS"\r\nSec-CH-UA-Mobile: ?1\r\nSec-CH-UA: "Safari";v="18"',
        "Sec-CH-UA-Platform: \xff" + "\x22" * 5_000,
    ],
    ids=str.__len__,
)
async def test_hostile_headers_and_client_hints_choose_nothing(header: str, fast: Wire, plain: Wire) -> None:
    request = get("rules").decode("latin-1").replace("\r\n\r\n", f"\r\n{header}\r\n\r\n").encode("latin-1")
    for wire in (fast, fast, plain):
        assert _location(await wire.say(request)) == OWN


@pytest.mark.parametrize("slug", ["early", "expired", "later"])
async def test_a_link_that_does_not_resolve_leads_to_its_fallback(slug: str, fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, fast, plain):
        assert _location(await wire.say(get(slug))) == FALLBACK
        assert _location(await wire.say(get(slug, method="HEAD"), bodies=False)) == FALLBACK
    assert visits() == []


async def test_a_disabled_link_ignores_its_fallback(fast: Wire, plain: Wire) -> None:
    for wire in (fast, fast, plain):
        assert (await wire.say(get("disabled"))).startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("slug", ["limited", "limited-rules"])
async def test_the_last_click_is_answered_and_the_next_is_not(slug: str, fast: Wire, plain: Wire, visits) -> None:
    for wire in (fast, plain):  # no clicks
        assert _location(await wire.say(get(slug, method="HEAD"), bodies=False)) == OWN
        assert b"</title>" in await wire.say(get(slug, agent="ExampleBot/1.0"))
        prefetch = get(slug).replace(b"\r\n\r\n", b"\r\nSec-Purpose: prefetch\r\n\r\n")
        assert _location(await wire.say(prefetch)) == OWN
    for wire in (fast, plain):
        assert _location(await wire.say(get(slug))) == OWN
    assert len(visits()) == 6
    for wire in (fast, plain):
        for request in (get(slug), get(slug, agent="ExampleBot/1.0"), get(slug, method="HEAD")):
            assert _location(await wire.say(request, bodies=not request.startswith(b"HEAD"))) == FALLBACK
        assert (await wire.say(get(f"{slug}+"))).startswith(b"HTTP/1.1 404 ")
    assert len(visits()) == 6


def test_lines_with_and_without_a_target_are_decoded() -> None:
    visit = Visit(b"0" * 32, b"1", b"1" * 32, user_agent=b"a\tb", target="Grüße".encode())
    line = encode(visit)
    assert decode(line.removesuffix(b"\n")) == visit._replace(user_agent=b"a b")
    assert decode(encode(visit[:-1]).removesuffix(b"\n")) == visit._replace(user_agent=b"a b", target=b"")


def _location(answer: bytes) -> str:
    assert answer.startswith(b"HTTP/1.1 302 "), answer
    return answer.partition(b"\r\nlocation: ")[2].partition(b"\r\n")[0].decode()
