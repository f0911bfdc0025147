"""Receivers of every kind of malice, over TCP and TLS, on both event loops: a plain reason each, at a bounded cost."""

import asyncio
import gc
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import servers
import trustme
import uvloop
from servers import ALLOW, OPEN, Flood, NameServer, Receiver, Script, response

from waypost.kit.ids import new_id
from waypost.kit.urls import canonical
from waypost.outbound import DestinationChecker, Outbound, OutboundResponse, Poster, Unreachable, UrlSafety
from waypost.outbound.connection import HttpConnection

SOON = 0.5  # a deadline that is meant to pass
LATE = 30.0  # one that is not
LIMIT = 65_536
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)
OK = response(200, b"ok")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
TOO_LARGE = "the response headers are too large"
TOO_MANY_INTERIM = "too many interim responses (1xx)"
CLOSED = "the connection was closed without a response"
NO_HTTP = "the response is not valid HTTP"

# its successor is a hook, and would change the loops of all tests
pytestmark = pytest.mark.filterwarnings('ignore:Overriding the "event_loop_policy" fixture')


@pytest.fixture(params=[asyncio.DefaultEventLoopPolicy, uvloop.EventLoopPolicy], ids=["asyncio", "uvloop"])
def event_loop_policy(request: pytest.FixtureRequest) -> asyncio.AbstractEventLoopPolicy:
    return request.param()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def outbound(authority: trustme.CA, names: NameServer, tmp_path: Path) -> Outbound:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    names.has("secure.test", [OPEN])
    return Outbound(allow=ALLOW, dns_servers=[names.address], ca_file=tmp_path / "ca.pem")


@pytest.fixture
async def posting(outbound: Outbound) -> AsyncIterator[Poster]:
    posting = Poster(outbound)
    yield posting
    await posting.close()


@pytest.fixture(params=["tcp", "tls"])
def tls(request: pytest.FixtureRequest, authority: trustme.CA) -> ssl.SSLContext | None:
    return presenting(authority.issue_cert(OPEN)) if request.param == "tls" else None


def presenting(certificate: trustme.LeafCert) -> ssl.SSLContext:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(tls)
    return tls


async def post(posting: Poster, url: str, *, deadline: float = LATE, body: bytes = b"{}") -> OutboundResponse:
    return await posting.post(canonical(url), headers={}, body=body, deadline=deadline, max_body=LIMIT)


async def reason(posting: Poster, url: str, *, deadline: float = LATE) -> str:
    with pytest.raises(Unreachable) as caught:
        await post(posting, url, deadline=deadline)
    return caught.value.reason


def after_one(script: Script) -> Script:
    """Answers well the first time, so that the fault meets a kept connection."""
    answered: list[bytes] = []

    async def first_well(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        if not answered:
            answered.append(head)
            writer.write(OK)
        else:
            await script(reader, writer, head)
            writer.close()

    return first_well


async def test_reads_valid_responses(posting: Poster, tls: ssl.SSLContext | None) -> None:
    async with Receiver(servers.always(OK), tls=tls, keeps=True) as receiver:
        for _ in range(3):
            assert (await post(posting, receiver.url())).body == b"ok"
        assert receiver.connections == 1


class TestBroken:
    SCRIPTS = pytest.mark.parametrize(
        ("script", "expected"),
        [
            (servers.reset, "connection reset"),
            (servers.always(b""), CLOSED),
            (servers.always(b"HTTP/1.1 200 OK"), CLOSED),
            (servers.always(b"HTTP/1.1 100 Continue\r\n\r\n"), CLOSED),
            (servers.always(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), NO_HTTP),
            (servers.always(b"\0" * 100), NO_HTTP),
        ],
    )

    @SCRIPTS
    async def test_at_once(self, posting: Poster, tls: ssl.SSLContext | None, script: Script, expected: str) -> None:
        async with Receiver(script, tls=tls) as receiver:
            assert await reason(posting, receiver.url()) == expected
            await receiver.gone.wait()

    @SCRIPTS
    async def test_on_a_kept_connection(
        self, posting: Poster, tls: ssl.SSLContext | None, script: Script, expected: str
    ) -> None:
        async with Receiver(after_one(script), tls=tls, keeps=True) as receiver:
            await post(posting, receiver.url())
            assert await reason(posting, receiver.url()) == expected
            assert receiver.connections == 1

    async def test_nobody_listens(self, posting: Poster, tls: ssl.SSLContext | None) -> None:
        async with Receiver(servers.always(OK), tls=tls) as receiver:
            url = receiver.url()
        assert await reason(posting, url) == "connection refused"

    async def test_a_change_of_protocol_ends_the_connection(self, posting: Poster, tls: ssl.SSLContext | None) -> None:
        script = servers.always(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: any\r\nConnection: upgrade\r\n\r\n" + OK)
        async with Receiver(script, tls=tls, keeps=True) as receiver:
            assert (await post(posting, receiver.url())).status == 101
            await receiver.gone.wait()


class TestEndless:
    @pytest.mark.parametrize(
        ("start", "more", "expected"),
        [
            (b"HTTP/1.1 200 OK\r\nX: ", b"x" * LIMIT, TOO_LARGE),
            (b"HTTP/1.1 200 ", b"x" * LIMIT, TOO_LARGE),
            (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000, TOO_LARGE),
            (b"HTTP/1.1 200 OK\r\n", b"X: %s\r\n" % (b"y" * 10_000), TOO_LARGE),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, TOO_MANY_INTERIM),
            (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n", TOO_MANY_INTERIM),
            (b"", b"HTTP/1.1 103 Early Hints\r\n%b\r\n" % (b"X: %s\r\n" % (b"y" * 10_000)), TOO_LARGE),
            (b"", b"\r\n" * 1000, TOO_LARGE),
        ],
    )
    async def test_a_head_is_refused(
        self, posting: Poster, tls: ssl.SSLContext | None, start: bytes, more: bytes, expected: str
    ) -> None:
        flood = Flood(start, more)
        async with Receiver(flood, tls=tls) as receiver:
            assert await reason(posting, receiver.url()) == expected
            await receiver.gone.wait()
        assert flood.sent < 12_000_000  # what the buffers of two sockets can hold, and a little more

    @pytest.mark.parametrize(
        ("start", "more", "status"),
        [
            (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * LIMIT, 200),
            (b"HTTP/1.1 302 No\r\nLocation: /\r\n\r\n", b"x" * LIMIT, 302),
            (b"HTTP/1.1 500 No\r\nContent-Length: 99999999999\r\n\r\n", b"x" * LIMIT, 500),
            (CHUNKED, b"1\r\nx\r\n" * 1000, 200),
            (CHUNKED, b"1;%s\r\nx\r\n" % (b"x" * 10_000), 200),
            (CHUNKED + b"1;", b"x" * LIMIT, 200),
            (CHUNKED + b"0\r\n", b"X: %s\r\n" % (b"x" * 1000), 200),
        ],
    )
    async def test_a_body_is_cut_off(
        self, posting: Poster, tls: ssl.SSLContext | None, start: bytes, more: bytes, status: int
    ) -> None:
        flood = Flood(start, more)
        async with Receiver(flood, tls=tls) as receiver:
            answer = await post(posting, receiver.url())
            await receiver.gone.wait()
        assert answer.status == status
        assert len(answer.body) <= LIMIT
        assert flood.sent < 12_000_000

    @pytest.mark.parametrize("length", [LIMIT, LIMIT + 1])
    async def test_to_the_byte(self, posting: Poster, tls: ssl.SSLContext | None, length: int) -> None:
        without_length = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * length
        for answer in (response(200, b"x" * length), without_length):
            async with Receiver(servers.always(answer), tls=tls) as receiver:
                assert (await post(posting, receiver.url())).body == b"x" * LIMIT

    async def test_answers_without_a_question(self, posting: Poster, tls: ssl.SSLContext | None) -> None:
        flood = Flood(b"", OK * 1000)
        async with Receiver(flood, tls=tls) as receiver:
            assert (await post(posting, receiver.url())).body == b"ok"
            await receiver.gone.wait()
        assert flood.sent < 12_000_000


@pytest.mark.parametrize(
    "script",
    [
        Flood(CHUNKED, b"1\r\nx\r\n" * 1000),
        Flood(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", b"x" * LIMIT),
        Flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        servers.always(OK),
        servers.reset,
        servers.stall,
    ],
    ids=["chunks", "body", "interim", "closed", "reset", "stall"],
)
@pytest.mark.parametrize("way", ["post", "get", "destination"])
async def test_a_closed_connection_does_not_wait_for_a_collection_of_garbage(
    outbound: Outbound, posting: Poster, tls: ssl.SSLContext | None, script: Script, way: str
) -> None:
    """Workers collect garbage rarely, and each connection with TLS has 256 KiB."""
    async with Receiver(script, tls=tls) as receiver:
        deadline, url = SOON if script is servers.stall else LATE, receiver.url()
        gc.collect()
        gc.disable()
        try:
            with suppress(Unreachable, TimeoutError):
                if way == "post":
                    await post(posting, url, deadline=deadline)
                elif way == "get":
                    await outbound.request("GET", canonical(url), deadline=deadline, max_body=LIMIT)
                else:
                    checker = DestinationChecker(outbound, UrlSafety())
                    async with asyncio.timeout(deadline):
                        await checker.fetch_metadata(canonical(url), account=new_id())
            await receiver.gone.wait()
            for _ in range(20):  # the connection is told that it is closed
                await asyncio.sleep(0)
            left = [found for found in gc.get_objects() if isinstance(found, HttpConnection)]
        finally:
            gc.enable()
    assert left == []


class TestSlow:
    @pytest.mark.parametrize(
        "script", [servers.stall, servers.stall_after_head, servers.drip, servers.drip_head], ids=lambda s: s.__name__
    )
    async def test_the_deadline_is_a_total(self, posting: Poster, tls: ssl.SSLContext | None, script: Script) -> None:
        async with Receiver(script, tls=tls) as receiver:
            assert await reason(posting, receiver.url(), deadline=SOON) == "timed out"
            await receiver.gone.wait()

    async def test_a_kept_connection_is_closed(self, posting: Poster, tls: ssl.SSLContext | None) -> None:
        async with Receiver(after_one(servers.stall), tls=tls, keeps=True) as receiver:
            await post(posting, receiver.url())
            assert await reason(posting, receiver.url(), deadline=SOON) == "timed out"
            await receiver.gone.wait()

    async def test_for_names(self, names: NameServer, posting: Poster) -> None:
        names.silent = True
        assert await reason(posting, "http://silent.test/", deadline=SOON) == "timed out"

    async def test_for_tls(self, posting: Poster) -> None:
        async with Receiver(servers.stall) as receiver:  # speaks no TLS and never answers the handshake
            assert await reason(posting, receiver.url().replace("http:", "https:"), deadline=SOON) == "timed out"
            await receiver.gone.wait()

    async def test_for_sending(self, posting: Poster) -> None:
        with socket.create_server((OPEN, 0)) as deaf:
            url = "http://{}:{}/".format(*deaf.getsockname())
            with pytest.raises(Unreachable, match="timed out"):
                await post(posting, url, deadline=SOON, body=bytes(32_000_000))


class TestTls:
    async def error(self, posting: Poster, certificate: trustme.LeafCert) -> str:
        async with Receiver(servers.always(OK), tls=presenting(certificate)) as receiver:
            error = await reason(posting, receiver.url(host="secure.test"))
            assert receiver.heads == []
            return error

    async def test_unknown_issuer(self, posting: Poster) -> None:
        certificate = trustme.CA().issue_cert("secure.test")
        assert await self.error(posting, certificate) == "tls: unable to get local issuer certificate"

    async def test_expired(self, posting: Poster, authority: trustme.CA) -> None:
        expired = authority.issue_cert("secure.test", not_before=LONG_AGO[0], not_after=LONG_AGO[1])
        assert await self.error(posting, expired) == "tls: certificate has expired"

    async def test_wrong_name(self, posting: Poster, authority: trustme.CA) -> None:
        error = await self.error(posting, authority.issue_cert("other.test"))
        assert error == "tls: Hostname mismatch, certificate is not valid for 'secure.test'."

    async def test_no_tls_at_all(self, posting: Poster) -> None:
        def answer_at_once(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(answer_at_once, OPEN) as server:
            url = "https://{}:{}/".format(*server.sockets[0].getsockname())
            assert await reason(posting, url) == "tls: the handshake failed"

    async def test_a_receiver_that_wants_our_certificate(self, posting: Poster, authority: trustme.CA) -> None:
        tls = presenting(authority.issue_cert("secure.test"))
        tls.verify_mode = ssl.CERT_REQUIRED
        tls.maximum_version = ssl.TLSVersion.TLSv1_2  # later ones tell only after the handshake, in a race with a reset
        async with Receiver(servers.always(OK), tls=tls) as receiver:
            assert await reason(posting, receiver.url(host="secure.test")) == "tls: the handshake failed"

    async def test_no_tls_any_more(self, posting: Poster, authority: trustme.CA) -> None:
        async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
            os.write(writer.get_extra_info("socket").fileno(), OK)
            await reader.read()

        async with Receiver(speak_plainly, tls=presenting(authority.issue_cert("secure.test"))) as receiver:
            assert await reason(posting, receiver.url(host="secure.test")) == "tls: the connection was cut off"
