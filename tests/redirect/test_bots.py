"""What bots are shown, and that they are in nobody's way."""

import asyncio
import re
from base64 import b64encode
from hashlib import sha256
from itertools import islice
from uuid import UUID

import pytest
from wire import HOST, LINK, route

from waypost.redirect import RouteOptions, new_route, pages

BOT = b"User-Agent: ExampleBot/1.0"
HUMAN = b"User-Agent: Mozilla/5.0"
PAGE = b"<title>" + LINK + b"</title>"


def asks(agent: bytes = BOT, *headers: bytes, method: bytes = b"GET", path: bytes = b"/hello", host=HOST) -> bytes:
    return b"\r\n".join([b"%s %s HTTP/1.1" % (method, path), b"Host: " + host, agent, *headers, b"", b""])


def headers_of(answer: bytes) -> dict[bytes, bytes]:
    lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    return dict(line.split(b": ", 1) for line in lines)


async def test_a_bot_gets_a_preview_page(fast, visits) -> None:
    answer = await fast.say(asks())
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(PAGE)
    (visit,) = visits()
    assert (visit.link, visit.user_agent, visit.peer) == (LINK, b"ExampleBot/1.0", b"127.0.0.1")


async def test_the_preview_has_restrictive_headers(fast) -> None:
    headers = headers_of(await fast.say(asks()))
    assert headers[b"content-type"] == b"text/html; charset=utf-8"
    assert headers[b"cache-control"] == b"private, no-store"
    assert headers[b"x-robots-tag"] == b"noindex"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"no-referrer-when-downgrade"
    rules = dict(rule.split(b" ", 1) for rule in headers[b"content-security-policy"].split(b"; "))
    style = b"'sha256-%s'" % b64encode(sha256(pages.STYLE.encode()).digest())
    none = dict.fromkeys([b"default-src", b"base-uri", b"form-action", b"frame-ancestors"], b"'none'")
    assert rules == none | {b"style-src": style, b"img-src": b"'self' data:"}


async def test_head_returns_the_length_and_records_nothing(fast, visits) -> None:
    first, answer, second = re.split(
        rb"HTTP/1.1 200 OK\r\n", await fast.say(asks(method=b"HEAD") * 2, answers=2, bodies=False)
    )
    assert first == b""
    assert answer.endswith(b"\r\n\r\n")
    assert second.endswith(b"\r\n\r\n")
    assert headers_of(answer)[b"content-length"] == b"%d" % len(PAGE)
    assert headers_of(answer)[b"x-robots-tag"] == b"noindex"
    assert visits() == []


async def test_a_preview_is_rendered_once_for_each_version_of_its_link(fast, plain, previews, source, feed) -> None:
    for wire in (fast, fast, plain):
        assert (await wire.say(asks())).endswith(PAGE)
    assert previews.pages_asked == 1
    previews.is_gone = True
    assert (await fast.say(asks())).endswith(PAGE)
    previews.is_gone, source.routes[b"hello"] = False, route("https://example.com/new")
    feed.publish(["hello"])
    for wire in (fast, plain):
        assert (await wire.say(asks())).endswith(PAGE)
    assert previews.pages_asked == 2


async def test_no_page_keeps_a_large_route_in_memory(fast, previews, source) -> None:
    source.routes[b"large"] = new_route(
        HOST, "https://example.com/", UUID(int=9), options=RouteOptions(json_size=9_000)
    )
    for _ in range(2):
        assert (await fast.say(asks(path=b"/large"))).endswith(b"</title>")
    assert previews.pages_asked == 2


async def test_redirects_a_bot_without_a_preview(fast, previews, visits) -> None:
    previews.is_gone = True
    answer = await fast.say(asks())
    assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
    assert headers_of(answer)[b"location"] == b"https://example.com/"
    assert len(visits()) == 1


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
async def test_a_deleted_link_is_missing_for_bots(fast, previews, visits, method: bytes) -> None:
    """Deleted or switched off, while its route is still remembered."""
    previews.has_link = False
    answer = await fast.say(asks(method=method), bodies=method == b"GET")
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert (b"<h1>Link not found" in answer) == (method == b"GET")
    assert visits() == []


async def test_redirects_bots_beyond_the_waiting_limit(fast, previews, visits) -> None:
    """Four pages are loaded at once, and 64 more bots wait."""
    previews.gate = asyncio.Event()
    answers = [asyncio.create_task(fast.say(asks())) for _ in range(4 + 64 + 3)]
    for answer in islice(asyncio.as_completed(answers), 3):
        assert (await answer).startswith(b"HTTP/1.1 302 Found\r\n")
    previews.gate.set()
    assert sum(answer.endswith(PAGE) for answer in await asyncio.gather(*answers)) == 4 + 64
    assert (await fast.say(asks())).endswith(PAGE)
    assert len(visits()) == len(answers) + 1


async def test_a_few_bots_wait_for_their_preview(fast, previews) -> None:
    previews.gate = asyncio.Event()
    shown = [asyncio.create_task(fast.say(asks())) for _ in range(12)]
    await _until_asked(previews, 4)
    for _ in range(20):
        await asyncio.sleep(0)
    assert previews.waiting == 4
    previews.gate.set()
    assert all(answer.endswith(PAGE) for answer in await asyncio.gather(*shown))


async def _until_asked(previews, count: int) -> None:
    async with asyncio.timeout(60):
        while previews.waiting < count:
            await asyncio.sleep(0)


async def test_a_missing_link_is_missing_for_bots(fast, source, visits) -> None:
    source.routes[b"over"] = route(expires_at=1.0)
    for request in (asks(path=b"/nothing"), asks(path=b"/over"), asks(path=b"/%00")):
        answer = await fast.say(request)
        assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
        assert (b"<h1>This link has expired" if b"/over" in request else b"<h1>Link not found") in answer
    assert (await fast.say(asks(host=b"evil.example"))).endswith(b"content-length: 0\r\n\r\n")
    assert visits() == []


async def test_bots_and_people_on_one_connection(fast, visits) -> None:
    answer = await fast.say(asks(HUMAN) + asks() + asks(HUMAN) + asks() + asks(HUMAN), answers=5)
    assert [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", answer)] == [302, 200, 302, 200, 302]
    assert len({visit.id for visit in visits()}) == 5


async def test_redirects_and_records_a_prefetch(fast, visits) -> None:
    answer = await fast.say(asks(HUMAN, b"Sec-Purpose: prefetch;prerender"))
    assert answer.startswith(b"HTTP/1.1 302 Found\r\n")
    assert [visit.purpose for visit in visits()] == [b"prefetch;prerender"]


NOT_A_BOT = {
    "none": b"X: y",
    "empty": b"User-Agent:",
    "binary": b"User-Agent: \xff\xfe\x80",
    "long": b"User-Agent: " + b"a" * 8000,
    "a bot elsewhere": b"Referer: https://example.com/ExampleBot/1.0",
}


@pytest.mark.parametrize("agent", NOT_A_BOT.values(), ids=NOT_A_BOT)
async def test_other_agents_are_people(fast, visits, agent: bytes) -> None:
    assert (await fast.say(asks(agent))).startswith(b"HTTP/1.1 302 Found\r\n")
    assert len(visits()) == 1


async def test_the_policy_of_the_missing_page_allows_its_style(fast) -> None:
    answer = await fast.say(asks(path=b"/nothing"))
    (style,) = re.findall(rb"<style>(.*?)</style>", answer, re.DOTALL)
    assert b64encode(sha256(style).digest()) in headers_of(answer)[b"content-security-policy"]
