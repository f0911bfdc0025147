"""The TLS port under those who connect and say nothing, and without a file to spare."""

import asyncio
import errno
import ssl
from collections.abc import Callable
from socket import create_server, socket

import pytest
import structlog
import trustme
import uvloop

from waypost.http.server import TlsListener

CA = trustme.CA()


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)
        self.transport.close()


class Poor(socket):
    """A socket whose process has had all its files open once or twice."""

    def __init__(self, of: socket, refusals: int) -> None:
        super().__init__(fileno=of.detach())
        self.refusals = refusals

    def accept(self):
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def listening(refusals: int = 0, **limits: float) -> TlsListener:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert("app.test").configure_cert(context)
    return TlsListener(Poor(create_server(("127.0.0.1", 0)), refusals), context, Echo, **limits)


async def connected(handshakes: TlsListener) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*handshakes._bound.getsockname())


async def visit(handshakes: TlsListener) -> bytes:
    context = ssl.create_default_context()
    CA.configure_trust(context)
    host, port = handshakes._bound.getsockname()
    reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="app.test")
    writer.write(b"hello")
    reported = await reader.read()
    writer.close()
    return reported


async def the_silent_keep_nobody_out() -> None:
    handshakes = listening(max_pending=3, timeout=3600)
    silent = [await connected(handshakes) for _ in range(8)]
    assert [await visit(handshakes) for _ in range(5)] == [b"hello"] * 5
    for reader, _ in silent[:5]:
        assert await reader.read() == b""
    assert len(handshakes._pending) <= 3
    handshakes.close()
    await handshakes.wait_closed()
    for reader, writer in silent:
        assert await reader.read() == b""  # at the end nobody is waited for
        writer.close()


async def patience_ends() -> None:
    handshakes = listening(timeout=0.01)
    reader, writer = await connected(handshakes)
    writer.write(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a greeting
    assert await reader.read() == b""
    writer.close()
    handshakes.close()
    await handshakes.wait_closed()


async def strangers_are_refused() -> None:
    handshakes = listening()
    stranger, other = await connected(handshakes)
    other.write(b"GET / HTTP/1.1\r\n\r\n")
    with_error = await stranger.read()
    assert b"hello" not in with_error
    other.close()
    handshakes.close()
    await handshakes.wait_closed()


async def without_a_file_it_waits() -> None:
    with structlog.testing.capture_logs() as logs:
        handshakes = listening(refusals=2, pause=0.01)
        assert await visit(handshakes) == b"hello"
    assert [line["event"] for line in logs] == ["cannot accept connections"]
    handshakes.close()
    await handshakes.wait_closed()


CASES = [the_silent_keep_nobody_out, patience_ends, strangers_are_refused, without_a_file_it_waits]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("loop", [uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def test_accepts_tls_connections(case: Callable, loop: Callable) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(case())
