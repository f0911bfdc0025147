"""What links forward of the visitor's query and path: bytes as sent, and never to another host."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_near import CUSTOM, NOT_FOUND, Town, town
from wire import HOST

from waypost.redirect.forwarding import MAX_LOCATION, Forwarding, beginnings, forward, is_forwardable

__all__ = ["town"]
ALL = Forwarding((b"*",))


@pytest.mark.parametrize(
    ("location", "query", "expected"),
    [
        ("https://x.test", "a=1", "https://x.test/?a=1"),
        ("https://x.test/p", "a[]=1&a[]=2", "https://x.test/p?a[]=1&a[]=2"),
        ("https://x.test/p?a=0&b=1&a=2", "a=3&c=4&a=5", "https://x.test/p?a=3&a=5&b=1&c=4"),
        ("https://x.test/p#top", "q=a+b%20c", "https://x.test/p?q=a+b%20c#top"),
        ("https://x.test/p?a=1#top?b", "b=2", "https://x.test/p?a=1&b=2#top?b"),
        ("https://x.test/p?%61=1", "a=2", "https://x.test/p?a=2"),
        ("https://x.test/p", "r=qr", "https://x.test/p"),
        ("https://x.test/p", "r=qr&a=1&r=q", "https://x.test/p?a=1&r=q"),
        ("https://x.test/p", "&&", "https://x.test/p"),
        ("https://x.test/p", "a&b=", "https://x.test/p?a&b="),
        ("https://x.test/p", "a=1#b", "https://x.test/p?a=1"),
        ("https://x.test/p?", "a=1", "https://x.test/p?a=1"),
        ("https://x.test", "", "https://x.test"),
        ("https://x.test/p", "a=" + "x" * MAX_LOCATION, "https://x.test/p"),
        ("https://x.test/p", "a=\x7f", "https://x.test/p"),
        ("HTTPS://x.test?b=1", "a=@evil.test", "HTTPS://x.test/?b=1&a=@evil.test"),
    ],
)
def test_forwards_the_query(location: str, query: str, expected: str) -> None:
    assert forward(location.encode(), ALL, query.encode(), b"").decode() == expected


def test_forwards_only_what_is_named() -> None:
    some = Forwarding((b"utm_*", b"gclid"))
    query = b"utm_source=a&x=1&utm%5fmedium=b&gclid=c&gclid2=d&GCLID=e"
    assert forward(b"https://x.test/", some, query, b"") == b"https://x.test/?utm_source=a&utm%5fmedium=b&gclid=c"
    assert forward(b"https://x.test", Forwarding((), has_path=True), query, b"") == b"https://x.test"


def test_reads_nothing_of_what_is_too_long() -> None:
    some = Forwarding((b"a", b"utm_*"), has_path=True)
    longest = b"a=1".rjust(MAX_LOCATION, b"&")
    assert forward(b"https://x.test/p", some, longest, b"") == b"https://x.test/p?a=1"
    assert forward(b"https://x.test/p", some, b"&" + longest, b"") == b"https://x.test/p"
    assert forward(b"https://x.test/p", some, longest, b"b") == b"https://x.test/p"


@pytest.mark.parametrize(
    ("location", "path", "expected"),
    [
        ("https://x.test", "@evil.test", "https://x.test/@evil.test"),
        ("https://x.test", "/evil.test", "https://x.test//evil.test"),
        ("https://x.test/shop", "a/b", "https://x.test/shop/a/b"),
        ("https://x.test/shop/", "a%2fb%5c", "https://x.test/shop/a%2fb%5c"),
        ("https://x.test/shop?a=1#f", "b/", "https://x.test/shop/b/?a=1#f"),
        ("https://x.test:8000/", ":1", "https://x.test:8000/:1"),
    ],
)
def test_forwards_more_path(location: str, path: str, expected: str) -> None:
    assert forward(location.encode(), Forwarding((), has_path=True), b"", path.encode()).decode() == expected


@pytest.mark.parametrize("path", ["..", "a/../b", ".", "%2e%2E/a", "a/%2e", "a%2f..%2fb", "a%5c..", "a\\b", "\\"])
def test_paths_that_lead_upwards_are_refused(path: str) -> None:
    assert not is_forwardable(path.encode())


@pytest.mark.parametrize("path", ["", "a", "...", "a..b", "%252e%252e", "a/.b/c.", "é"])
def test_other_paths_are_forwarded(path: str) -> None:
    assert is_forwardable(path.encode())


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_never_leads_to_another_host(query: bytes, path: bytes) -> None:
    for location in (b"https://x.test", b"http://x.test:81/p?q#f"):
        result = forward(location, Forwarding((b"*",), has_path=True), query, path)
        assert urlsplit(result)[:2] == urlsplit(location)[:2]
        assert b"\n" not in result
        assert b" " not in result


def test_an_address_has_few_beginnings() -> None:
    assert beginnings(b"a/b/c") == [b"a/b", b"a"]
    assert beginnings(b"a/") == [b"a"]
    assert len(beginnings(b"/" * 4_000)) == 32


async def set_options(town: Town, link: str, **options: Any) -> None:
    answer = await town.ask("PATCH", f"/links/{link}/options", **options)
    assert "data" in answer, answer


async def test_forwards_what_the_link_says(town: Town) -> None:
    link = await town.make("Sale")
    assert await town.visit("/Sale?a=1") == "Sale"
    await set_options(town, link, forward_query="all")
    for more in ("", "", "Connection: close\r\n"):
        assert await town.visit("/Sale?a=1&b=%20+", more=more) == "Sale&a=1&b=%20+"
        assert await town.visit("/Sale", more=more) == "Sale"
        assert await town.visit("/sale.?a=1", more=more) == "Sale&a=1", "near addresses, too"
        assert await town.visit("/Sale&a=1?b=2", more=more) == "Sale&a=1&b=2"
        assert await town.visit("/Sale?r=qr&c=3", more=more) == "Sale&c=3"
    await set_options(town, link, forward_query=["utm_*"])
    assert await town.visit("/Sale?a=1&utm_source=x") == "Sale&utm_source=x"
    await set_options(town, link, forward_query=None)
    assert await town.visit("/Sale?utm_source=x") == "Sale"


async def test_forwards_more_path_only_where_the_link_says(town: Town) -> None:
    link = await town.make("Sale")
    await town.ask("PATCH", f"/links/{link}", destination_url=f"{town.site.url}/p?q")
    for path in ("summer/Sale", "summer"):
        await town.ask("POST", f"/links/{link}/aliases", hostname=CUSTOM, path=path)
    assert await town.visit("/Sale/more") == NOT_FOUND
    await set_options(town, link, forward_path=True)
    await town.loaded()

    async def led(path: str, host: str = HOST.decode()) -> str:
        answer = await town.wire.say(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return answer.partition(b"location: ")[2].partition(b"\r\n")[0].decode().removeprefix(f"{town.site.url}/p")

    assert await led("/Sale/more/path?x=1") == "/more/path?q"
    assert await led("/Sale/") == await led("/Sale") == "?q"
    assert await led("/sale/a%2fb") == "/a%2fb?q", "near for the first segment"
    assert await led("/summer/Sale/x/y", CUSTOM) == "/x/y?q", "the longest alias"
    assert await led("/summer/z", CUSTOM) == "/z?q"
    for path in ("/Sale/../x", "/Sale/%2e%2e/x", "/Sale/a\\b", "/Other/x", "/summer/x"):
        assert await town.visit(path) == NOT_FOUND, path
    await set_options(town, link, forward_query="all")
    assert await led("/Sale/x?a=1") == "/x?q&a=1"


async def test_follows_the_options_of_the_domain(town: Town) -> None:
    link, other = await town.make("one", CUSTOM), await town.make("two", CUSTOM)
    await set_options(town, other, forward_query="none")
    assert [await town.visit(f"/{slug}?a=1", CUSTOM) for slug in ("one", "two")] == ["one", "two"]
    changed = await town.ask("PATCH", f"/domains/{town.domain}/options", forward_query="all", forward_path=True)
    assert (changed["data"]["forward_query"], changed["data"]["forward_path"]) == ("all", True)
    assert [await town.visit(f"/{slug}?a=1", CUSTOM) for slug in ("one", "two")] == ["one&a=1", "two"]
    assert (await town.ask("GET", f"/links/{link}/options"))["data"]["forward_query"] is None
    await town.ask("PATCH", f"/links/{link}", hostname=None)
    assert await town.visit("/one?a=1") == "one", "the shared domain has its own"


async def test_holds_for_rules_variants_and_pixels(town: Town, tmp_path: Path) -> None:
    link = await town.make("Sale")
    await set_options(town, link, forward_query="all")
    variants = [{"name": "B", "destination_url": town.url("B"), "weight": 100}]
    await town.ask("PUT", f"/links/{link}/routing", variants=variants, fallback_url=town.url("fallback"))
    assert await town.visit("/Sale?a=1") == "B&a=1"
    await town.ask("PUT", f"/links/{link}/routing", starts_at="2099-01-01T00:00:00Z", fallback_url=town.url("fallback"))
    assert await town.visit("/Sale?a=1") == "fallback"
    await town.ask("DELETE", f"/links/{link}/routing")
    pixel = await town.ask("POST", "/pixels", platform="facebook", name="p", pixel_id="123456789012345")
    await town.ask("PATCH", f"/links/{link}", pixel_ids=[pixel["data"]["id"]])
    page = await town.wire.say(b"GET /Sale?a=%22%3C1 HTTP/1.1\r\nHost: " + HOST + b"\r\n\r\n")
    assert f'"to":"{town.site.url}/?Sale\\u0026a=%22%3C1"'.encode() in page
