"""R28: no answer costs more than its bounds, and none keeps the event loop from running others.

Each flood is as long as the client takes it, and each test says at how many bytes the client ended it.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
import uvloop
from hypothesis import given
from hypothesis import strategies as st
from servers import ALLOW, OPEN, Flood, NameServer, Receiver, always, endless_interim, response

from waypost.kit.urls import Url, canonical
from waypost.outbound import (
    DestinationChecker,
    Outbound,
    OutboundResponse,
    PageMetadata,
    Poster,
    SafeBrowsing,
    Unreachable,
    UrlSafety,
)
from waypost.outbound.acme import Acme, SigningKey
from waypost.outbound.acme_problems import AuthorityUnavailable
from waypost.outbound.connection import CHUNK, HttpConnection
from waypost.outbound.response_reader import (
    MAX_FRAMING,
    MAX_HEADS,
    MAX_INTERIM,
    NOT_HTTP,
    TOO_LARGE,
    TOO_MANY_INTERIM,
    ResponseReader,
)

LATE = 30.0  # a deadline that is not meant to pass
LIMIT = 65_536
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"

Get = Callable[[Url], Awaitable[OutboundResponse]]

# its successor is a hook, and would change the loops of all tests
pytestmark = pytest.mark.filterwarnings('ignore:Overriding the "event_loop_policy" fixture')


@pytest.fixture(params=[asyncio.DefaultEventLoopPolicy, uvloop.EventLoopPolicy], ids=["asyncio", "uvloop"])
def event_loop_policy(request: pytest.FixtureRequest) -> asyncio.AbstractEventLoopPolicy:
    return request.param()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def outbound(authority: trustme.CA, names: NameServer, tmp_path: Path) -> "WatchedOutbound":
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return WatchedOutbound(allow=ALLOW, dns_servers=[names.address], ca_file=tmp_path / "ca.pem")


@pytest.fixture(params=["tcp", "tls"])
def tls(request: pytest.FixtureRequest, authority: trustme.CA) -> ssl.SSLContext | None:
    return presenting(authority) if request.param == "tls" else None


def presenting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(OPEN).configure_cert(context)
    return context


@pytest.fixture(params=["request", "post"])
async def get(request: pytest.FixtureRequest, outbound: Outbound) -> AsyncIterator[Get]:
    poster = Poster(outbound)

    async def by_request(url: Url) -> OutboundResponse:
        return await outbound.request("POST", url, body=b"{}", deadline=LATE, max_body=LIMIT)

    async def by_post(url: Url) -> OutboundResponse:
        return await poster.post(url, headers={}, body=b"{}", deadline=LATE, max_body=LIMIT)

    yield by_request if request.param == "request" else by_post
    await poster.close()


class Watched:
    """What is read: how many bytes, and in which turn of the event loop."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, int]] = []
        self.turn = 0

    @property
    def received(self) -> int:
        return sum(size for _, size in self.pieces)

    async def count_turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.turn += 1


class WatchedOutbound(Outbound):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.watched = Watched()

    async def connect(self, *args: Any, **options: Any) -> HttpConnection:
        connection = await super().connect(*args, **options)
        receive = connection.receive

        async def watched_receive() -> bytes:
            received = await receive()
            if received:
                self.watched.pieces.append((self.watched.turn, len(received)))
            return received

        connection.receive = watched_receive
        return connection


@pytest.fixture
async def parsed(outbound: WatchedOutbound) -> AsyncIterator[Watched]:
    counting = asyncio.create_task(outbound.watched.count_turns())
    yield outbound.watched
    counting.cancel()


async def reason(get: Get, url: str) -> str:
    with pytest.raises(Unreachable) as caught:
        await get(canonical(url))
    return caught.value.reason


async def test_other_tasks_run_between_the_pieces_of_an_answer(
    get: Get, parsed: Watched, tls: ssl.SSLContext | None
) -> None:
    async with Receiver(always(response(200, b"x" * LIMIT)), tls=tls) as receiver:
        assert (await get(canonical(receiver.url()))).body == b"x" * LIMIT
    assert max(size for _, size in parsed.pieces) < 2 * CHUNK
    turns = [turn for turn, _ in parsed.pieces]
    assert len(turns) >= LIMIT // CHUNK // 2
    assert len(set(turns)) == len(turns)


class TestBounds:
    @pytest.mark.parametrize(
        ("start", "more", "expected", "at_most"),
        [
            (b"", INTERIM * 1000, TOO_MANY_INTERIM, CHUNK),
            (b"", b"HTTP/1.1 103 Early Hints\r\nX: %b\r\n\r\n" % (b"y" * 10_000), TOO_LARGE, MAX_HEADS),
            (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000, TOO_LARGE, MAX_HEADS),
            (b"", b"\r\n" * 1000, TOO_LARGE, MAX_HEADS),
            (b"", b"HTTP/1.1 102 A\r\n\r\nHTTP/1.1 103 B\r\n\r\nHTTP/1.1 199 C\r\n\r\n" * 300, TOO_MANY_INTERIM, CHUNK),
            (b"", b"HTTP/1.1 103 A\r\nLink: %b\r\n\r\n" % (b"</a>," * 500), TOO_MANY_INTERIM, MAX_HEADS),
            (b"", INTERIM + b"\r\n" * 1000, TOO_MANY_INTERIM, MAX_HEADS),
            (b"HTTP/1.1 200 OK\r\nX: y", b"\r\n y" * 1000, TOO_LARGE, MAX_HEADS),
            (b"HTTP/1.1 ", b"2" * 4000, NOT_HTTP, CHUNK),
        ],
        ids=[
            "interim",
            "large-interim",
            "headers",
            "blank-lines",
            "kinds-of-interim",
            "hints",
            "interim-and-blank-lines",
            "folded-header",
            "status-line",
        ],
    )
    async def test_before_the_final_status(
        self, get: Get, parsed: Watched, start: bytes, more: bytes, expected: str, at_most: int
    ) -> None:
        async with Receiver(Flood(start, more)) as receiver:
            assert await reason(get, receiver.url()) == expected
            await receiver.gone.wait()
        assert parsed.received <= at_most + CHUNK

    @pytest.mark.parametrize(
        "more",
        [
            b"1\r\nx\r\n" * 1000,
            b"1;%b\r\nx\r\n" % (b"y" * 10_000),
            b"0\r\n" + b"X: %b\r\n" % (b"y" * 1000),
            b"0" * 4000,
            b"1" + b";a=b" * 1000,
        ],
        ids=["tiny-chunks", "extensions", "trailers", "zeros", "one-extension"],
    )
    async def test_around_a_body(self, outbound: Outbound, parsed: Watched, more: bytes) -> None:
        poster = Poster(outbound)
        async with Receiver(Flood(CHUNKED, more)) as receiver:
            answer = await poster.post(canonical(receiver.url()), headers={}, body=b"", deadline=LATE, max_body=LIMIT)
            await receiver.gone.wait()
        await poster.close()
        assert answer.status == 200
        assert parsed.received <= LIMIT + MAX_FRAMING + CHUNK

    async def test_what_came_before_them_still_counts_for_a_page(self, outbound: Outbound) -> None:
        async with Receiver(Flood(CHUNKED + b"10\r\n<title>a</title>\r\n", b"1\r\nx\r\n" * 1000)) as receiver:
            answer = await outbound.request("GET", canonical(receiver.url()), deadline=LATE, max_body=LIMIT)
        assert answer.body.startswith(b"<title>a</title>xxx")
        assert len(answer.body) < MAX_FRAMING // 5 + CHUNK

    async def test_as_many_interim_responses_as_allowed(self, get: Get) -> None:
        async with Receiver(always(INTERIM * MAX_INTERIM + response(200, b"ok"))) as receiver:
            assert (await get(canonical(receiver.url()))).body == b"ok"

    async def test_one_interim_response_more(self, get: Get) -> None:
        async with Receiver(always(INTERIM * (MAX_INTERIM + 1) + response(200, b"ok"))) as receiver:
            assert await reason(get, receiver.url()) == TOO_MANY_INTERIM

    async def test_nothing_is_parsed_after_switching_protocols(self, get: Get, parsed: Watched) -> None:
        switch = b"HTTP/1.1 101 A\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n"
        async with Receiver(Flood(switch, INTERIM * 1000)) as receiver:
            answer = await get(canonical(receiver.url()))
            await receiver.gone.wait()
        assert (answer.status, answer.body) == (101, b"")
        assert parsed.received <= LIMIT + MAX_FRAMING + CHUNK

    async def test_answers_after_the_answer_are_not_parsed(self, get: Get, parsed: Watched) -> None:
        async with Receiver(Flood(b"", response(200, b"ok") * 1000)) as receiver:
            assert (await get(canonical(receiver.url()))).body == b"ok"
            await receiver.gone.wait()
        assert parsed.received <= 2 * CHUNK

    async def test_each_request_on_a_kept_connection_has_bounds_of_its_own(self, outbound: Outbound) -> None:
        poster = Poster(outbound)
        script = always(INTERIM * MAX_INTERIM + response(200, b"x" * LIMIT))
        async with Receiver(script, keeps=True) as receiver:
            for _ in range(3):
                answer = await poster.post(
                    canonical(receiver.url()), headers={}, body=b"", deadline=LATE, max_body=LIMIT
                )
                assert len(answer.body) == LIMIT
            assert receiver.connections == 1
        await poster.close()


class TestEveryClient:
    """Endless responses of status 1xx, which froze all redirects for seconds."""

    @pytest.fixture(autouse=True)
    def _is_bounded(self, parsed: Watched) -> Iterator[None]:
        yield
        assert 0 < parsed.received < 2 * CHUNK

    async def test_destination(self, outbound: Outbound) -> None:
        async with Receiver(endless_interim()) as receiver:
            with pytest.raises(Unreachable, match=r"1xx"):
                await DestinationChecker(outbound, UrlSafety()).fetch_metadata(canonical(receiver.url()), account=None)
            await receiver.gone.wait()

    async def test_certificate_authority(self, outbound: Outbound, authority: trustme.CA) -> None:
        async with Receiver(endless_interim(), tls=presenting(authority)) as receiver:
            with pytest.raises(AuthorityUnavailable) as caught:
                await Acme(outbound, receiver.url()).register(SigningKey.new())
            await receiver.gone.wait()
        assert caught.value.detail == TOO_MANY_INTERIM

    async def test_safe_browsing(self, outbound: Outbound) -> None:
        async with Receiver(endless_interim()) as receiver:
            assert not await SafeBrowsing(outbound, "key", receiver.url()).find([canonical("https://example.com/")])
            await receiver.gone.wait()


class TestHostileHeaders:
    """What is done with an answer's headers takes no longer than its size."""

    @pytest.mark.timeout(20)
    @pytest.mark.parametrize(
        "header",
        [b"Content-Type: text/html" + b";a=b" * 4_000, b"Content-Type: text/html;" + b"(" * 16_000],
        ids=["parameters", "comments"],
    )
    async def test_content_type(self, outbound: Outbound, header: bytes) -> None:
        body = b"<title>a</title>"
        script = always(b"HTTP/1.1 200 OK\r\n%b\r\nContent-Length: %d\r\n\r\n%b" % (header, len(body), body))
        async with Receiver(script) as receiver:
            seen = await DestinationChecker(outbound, UrlSafety()).fetch_metadata(
                canonical(receiver.url()), account=None
            )
        assert seen == PageMetadata(title="a")

    async def test_location(self, outbound: Outbound) -> None:
        async with Receiver(always(response(302, location="http://" + "a" * 9_000))) as receiver:
            with pytest.raises(Unreachable, match="too long"):
                await DestinationChecker(outbound, UrlSafety()).fetch_metadata(canonical(receiver.url()), account=None)

    @pytest.mark.parametrize("body", [b"[" * 60_000, b'{"a":' * 10_000])
    def test_json(self, body: bytes) -> None:
        with pytest.raises(ValueError, match="nested"):
            OutboundResponse(200, {}, body, canonical("https://example.com/")).json()

    @pytest.mark.timeout(20)
    @pytest.mark.parametrize(
        "start",
        [
            b"X: " * 40_000,
            b"X: y\r\n" * 20_000,
            b"X: y\r\n z" + b"\r\n z" * 30_000,
            b":" * 120_000,
            b"Content-Length: " + b"1," * 60_000,
            b"Transfer-Encoding: " + b"," * 120_000,
            b"Content-Encoding: " + b"gzip," * 20_000,
            b"Set-Cookie: " + b"a=b;" * 30_000,
            b"Set-Cookie: a=b;expires=" + b"1 " * 60_000,
            b"Location: /" + b"\xe9" * 8_000,
        ],
        ids=lambda start: start[:20].decode("latin-1"),
    )
    async def test_any(self, outbound: Outbound, start: bytes) -> None:
        answer = b"HTTP/1.1 302 A\r\n%b\r\nLocation: /\r\n\r\n" % start
        async with Receiver(always(answer)) as receiver:
            with suppress(Unreachable):
                await DestinationChecker(outbound, UrlSafety()).fetch_metadata(canonical(receiver.url()), account=None)
            assert receiver.connections


async def read(answer: bytes, size: int, method: str = "POST") -> tuple[int, list[tuple[str, str]], bytes, bool]:
    """What is read of an answer that arrives in pieces of this size."""
    pieces = [answer[start : start + size] for start in range(0, len(answer), size)]

    async def receive() -> bytes:
        return pieces.pop(0) if pieces else b""

    reader, body = ResponseReader(receive), b""
    await reader.read_head(method)
    while part := await reader.read():
        body += part
    return reader.status, list(reader.headers.items()), body, reader.is_complete


@pytest.mark.parametrize(
    "answer",
    [
        response(200, b"hello", x="y"),
        INTERIM + response(404, b"hello"),
        b"\r\nHTTP/1.1 200 OK\nX: a\r\n\tb\r\n\nhello",
        CHUNKED + b"5;a=b\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
        CHUNKED + b"5\r\nhello5\nworld\n0\n",
        b"HTTP/1.1 200 OK\r\nX: y\r\nContent-Le",
    ],
)
async def test_it_does_not_matter_how_an_answer_is_cut_into_pieces(answer: bytes) -> None:
    whole = await read(answer, len(answer))
    assert whole[2] in {b"", b"hello", b"hello!", b"helloworld"}
    for size in range(1, len(answer)):
        assert await read(answer, size) == whole


@given(st.binary(max_size=200), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", CHUNKED]))
async def test_whatever_is_sent_is_an_answer_or_none(answer: bytes, start: bytes) -> None:
    with suppress(Unreachable):
        await read(start + answer, 7)
