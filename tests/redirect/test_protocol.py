"""On raw sockets: the fast answers, and that whatever is unusual is answered as plain uvicorn would."""

import asyncio
import gc
import re
import time
import weakref

import pytest
from wire import HOST, LINK, route

GET = b"GET /hello HTTP/1.1\r\nHost: go.test\r\n\r\n"
APP = b"GET /api/x HTTP/1.1\r\nHost: go.test\r\n\r\n"


def head(request: bytes, *headers: bytes, host: bytes = HOST) -> bytes:
    return b"\r\n".join([request + b" HTTP/1.1", b"Host: " + host, *headers, b"", b""])


async def test_redirects_and_records_a_visit(fast, visits) -> None:
    answer = await fast.say(GET)
    lines = answer.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 302 Found"
    assert b"location: https://example.com/" in lines
    assert b"cache-control: private, no-store" in lines
    assert b"referrer-policy: no-referrer-when-downgrade" in lines
    assert b"content-length: 0" in lines
    assert any(line.startswith(b"date: ") for line in lines)
    (visit,) = visits()
    assert (visit.link, visit.peer) == (LINK, b"127.0.0.1")


async def test_the_spool_keeps_the_fields_of_a_visit(fast, visits) -> None:
    await fast.say(
        head(
            b"GET /hello?r=qr&x=",
            b"User-Agent: Mozilla 5.0",
            b"Referer: https://from.example/page",
            b"Accept-Language: de",
            b"X-Forwarded-For: 192.0.2.1",
            b"Sec-Purpose: prefetch",
            b"Sec-GPC: 1",
        )
    )
    (visit,) = visits()
    assert visit[3:-1] == (
        b"r=qr&x=",
        b"127.0.0.1",
        b"192.0.2.1",
        b"",
        b"Mozilla 5.0",
        b"https://from.example/page",
        b"de",
        b"prefetch",
        b"1",
        b"",
    )


async def test_a_tab_in_a_header_is_a_space_in_the_spool(fast, visits) -> None:
    await fast.say(head(b"GET /hello", b"User-Agent: Mozilla\t5.0", b"Referer: https://from.example/\tpage"))
    (visit,) = visits()
    assert (visit.user_agent, visit.referrer) == (b"Mozilla 5.0", b"https://from.example/ page")


async def test_keeps_forwarding_headers_of_several_proxies_in_order(fast, visits) -> None:
    await fast.say(head(b"GET /hello", b"X-Forwarded-For: 192.0.2.1", b"X-Forwarded-For: 198.51.100.2"))
    (visit,) = visits()
    assert visit.forwarded_for == b"192.0.2.1, 198.51.100.2"


async def test_truncates_long_headers(fast, visits) -> None:
    await fast.say(head(b"GET /hello", b"User-Agent: " + b"a" * 8192, b"Referer: https://x.example/"))
    (visit,) = visits()
    assert len(visit.user_agent) == 1024
    assert visit.referrer == b"https://x.example/"


async def test_answers_head_without_recording(fast, visits) -> None:
    assert (await fast.say(head(b"HEAD /hello"))).startswith(b"HTTP/1.1 302 Found\r\n")
    assert visits() == []


async def test_checks_the_expiry_on_every_hit(fast, source, visits) -> None:
    answer, lifetime = b"", 0.01
    while b" 302 " not in answer:  # it came too late
        lifetime *= 5
        slug = b"brief-%d" % (lifetime * 100)
        source.routes[slug] = route(expires_at=time.time() + lifetime)
        answer = await fast.say(head(b"GET /" + slug))
    while time.time() < source.routes[slug][2]:
        await asyncio.sleep(0.01)
    assert b" 404 " in await fast.say(head(b"GET /" + slug))
    assert len(visits()) == 1


async def test_a_missing_link_has_a_page(fast, visits) -> None:
    answer = await fast.say(head(b"GET /nothing"))
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"<h1>Link not found" in answer
    assert visits() == []


async def test_another_host_gets_an_empty_404(fast, visits) -> None:
    answer = await fast.say(head(b"GET /hello", host=b"evil.example"))
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert answer.endswith(b"content-length: 0\r\n\r\n")
    assert visits() == []


async def test_pipelined_fast_and_slow_are_answered_in_order(fast, visits) -> None:
    answer = await fast.say(GET + APP + GET + head(b"GET /nothing") + GET, answers=5)
    assert [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", answer)] == [302, 200, 302, 404, 302]
    assert len(visits()) == 3


async def test_records_every_pipelined_visit(fast, visits) -> None:
    answer = await fast.say(GET * 100, answers=100)
    assert answer.count(b"HTTP/1.1 302 Found") == 100
    assert len({visit.id for visit in visits()}) == 100


async def test_answers_a_head_in_pieces(fast, visits) -> None:
    answer = await fast.say(*(bytes([byte]) for byte in GET))
    assert answer.startswith(b"HTTP/1.1 302 Found")
    assert len(visits()) == 1


async def test_fast_after_a_post_on_one_connection(fast) -> None:
    post = head(b"POST /api/x", b"Content-Length: 4") + b"body"
    answer = await fast.say(post, GET, post, answers=3)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"302", b"200"]
    assert answer.count(b"app POST /api/x body") == 2


SAME_AS_PLAIN = {
    "HTTP/1.0": b"GET /hello HTTP/1.0\r\nHost: go.test\r\n\r\n",
    "HTTP/1.0 keep-alive": b"GET /hello HTTP/1.0\r\nHost: go.test\r\nConnection: keep-alive\r\n\r\n",
    "connection close": head(b"GET /hello", b"Connection: close"),
    "connection keep-alive": head(b"GET /hello", b"Connection: keep-alive"),
    "no host": b"GET /hello HTTP/1.1\r\n\r\n",
    "two hosts": head(b"GET /hello", b"Host: evil.example"),
    "host in capitals": head(b"GET /hello", host=b"GO.Test"),
    "host with its port": head(b"GET /hello", host=b"go.test:80"),
    "host with a dot": head(b"GET /hello", host=b"go.test."),
    "body on GET": head(b"GET /hello", b"Content-Length: 5") + b"extra",
    "chunked body on GET": head(b"GET /hello", b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n",
    "expect": head(b"GET /hello", b"Expect: 100-continue"),
    "upgrade to h2c": head(
        b"GET /hello", b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: A"
    ),
    "upgrade to a websocket": head(
        b"GET /hello",
        b"Connection: Upgrade",
        b"Upgrade: websocket",
        b"Sec-WebSocket-Key: x",
        b"Sec-WebSocket-Version: 13",
    ),
    "absolute form": head(b"GET http://go.test/hello"),
    "encoded slug": head(b"GET /hell%6F"),
    "encoded slash": head(b"GET /hello%2Fworld"),
    "broken escape": head(b"GET /hello%"),
    "deeper path": head(b"GET /hello/world"),
    "trailing slash": head(b"GET /hello/"),
    "doubled slash": head(b"GET //hello"),
    "capitals": head(b"GET /HELLO"),
    "query": head(b"GET /hello?next=https://evil.example/%0d%0a"),
    "fragment": head(b"GET /hello#part"),
    "POST": head(b"POST /hello", b"Content-Length: 2") + b"{}",
    "DELETE": head(b"DELETE /hello"),
    "OPTIONS *": head(b"OPTIONS *"),
    "not HTTP": b"hello?\r\n\r\n",
    "bad version": b"GET /hello HTTP/9.9\r\nHost: go.test\r\n\r\n",
    "bare line feed": b"GET /hello HTTP/1.1\nHost: go.test\n\n",
    "blank in a header's name": head(b"GET /hello", b"Bad Name: x"),
    "folded header": b"GET /hello HTTP/1.1\r\nHost: go.test\r\nX-A: b\r\n c\r\n\r\n",
    "NUL in a header": head(b"GET /hello", b"X-A: a\0b"),
    "two lengths": head(b"GET /hello", b"Content-Length: 1", b"Content-Length: 2") + b"x",
    "length and chunks": head(b"GET /hello", b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "visit, then garbage": GET + b"garbage\r\n\r\n",
    "visit, then a part of one": GET + b"GET /hel",
    "missing": head(b"GET /nothing"),
    "root": head(b"GET /"),
    "robot": head(b"GET /hello", b"User-Agent: ExampleBot/1.0"),
    "bot asking for the head": head(b"HEAD /hello", b"User-Agent: ExampleBot/1.0"),
    "bot on a missing link": head(b"GET /nothing", b"User-Agent: ExampleBot/1.0"),
    "close, then more": head(b"GET /hello", b"Connection: close") + GET,
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", SAME_AS_PLAIN)
async def test_same_as_plain_uvicorn(name: str, fast, plain) -> None:
    ours, theirs = [
        await wire.say(SAME_AS_PLAIN[name] + head(b"GET /api/end", b"Connection: close"), answers=3)
        for wire in (fast, plain)
    ]
    assert _comparable(ours) == _comparable(theirs)
    assert b"HTTP/1.1" in theirs


def _comparable(answers: bytes) -> list[tuple[bytes, ...]]:
    """Per answer its status line, its headers without the date and without regard to order, its body.

    What the parser refuses has the same status and closes the connection; the body is ours.
    """
    found = []
    for answer in re.split(rb"(?=HTTP/1\.1 \d)", answers)[1:]:
        top, _, body = answer.partition(b"\r\n\r\n")
        status, *headers = top.split(b"\r\n")
        is_refused = b" 400 " in status
        found.append(
            (b"refused",)
            if is_refused
            else (status, *sorted(each for each in headers if not each.startswith(b"date:")), body)
        )
    return found


async def test_junk_is_neither_loaded_nor_cached(fast, source, state) -> None:
    for path in (b"/" + b"a" * 5_000, b"/%00", b"/a.php", b"/" + b"b" * 256):
        assert b" 404 " in await fast.say(head(b"GET " + path))
    assert source.asked == []
    assert state.table._missing == {}


async def test_accepts_header_names_in_any_case(fast, visits) -> None:
    for names in ((b"host", b"user-agent"), (b"HOST", b"USER-AGENT"), (b"hOsT", b"uSeR-aGeNt")):
        request = b"GET /hello HTTP/1.1\r\n%b: go.test\r\n%b: curl\r\n\r\n" % names
        assert b" 302 " in await fast.say(request)
    assert [visit.user_agent for visit in visits()] == [b"curl"] * 3


async def test_a_connection_is_freed_when_it_ends(fast, connections) -> None:
    """Without waiting for the garbage collector, which rarely runs in full."""
    reader, writer = await asyncio.open_connection("127.0.0.1", fast.port)
    writer.write(GET)
    await reader.readuntil(b"\r\n\r\n")
    connection = weakref.ref(*connections._open)
    gc.disable()
    try:
        writer.close()
        async with asyncio.timeout(60):
            while connection() is not None:
                await asyncio.sleep(0.005)
    finally:
        gc.enable()
