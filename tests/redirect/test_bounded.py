"""On raw sockets: what one client may hold and how long it may take. R29 and R38 of the requirements."""

import asyncio
import json
import resource
import subprocess
import sys
import time

import pytest
from test_protocol import APP, GET, head
from wire import Wire, serve

from waypost.http.connections import Connections
from waypost.redirect.asgi import RedirectApp
from waypost.redirect.protocol import protocol_for


class Clients:
    """Connections to the service, each with the server's side of it."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.writers: list[asyncio.StreamWriter] = []

    async def connect(self, sent: bytes = b"") -> tuple:
        connections = self.wire.server.server_state.connections
        known = set(connections)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.wire.port, limit=1 << 26)
        self.writers.append(writer)
        writer.write(sent)
        while not (new := connections - known):
            await asyncio.sleep(0.001)
        return reader, writer, new.pop()


@pytest.fixture
async def clients(fast):
    clients = Clients(fast)
    yield clients
    for writer in clients.writers:
        writer.transport.abort()


async def until(condition) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


def read_envelope(answer: bytes) -> tuple[int, dict]:
    top, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in top
    assert b"x-content-type-options: nosniff" in top
    assert b"connection: close" in top
    return int(top.split()[1]), json.loads(body)["error"]


# Sizes and counts


async def test_rejects_an_endless_head(fast) -> None:
    answer = await fast.say(b"GET /hello HTTP/1.1\r\nHost: go.test\r\nX-Long: ", *[b"a" * 16_400] * 4)
    status, error = read_envelope(answer)
    assert (status, error["code"]) == (431, "http_error")


async def test_rejects_a_head_of_many_headers(fast) -> None:
    at_most = head(b"GET /api/x", *[b"a: b"] * 127)
    assert (await fast.say(at_most)).startswith(b"HTTP/1.1 200 ")
    status, error = read_envelope(await fast.say(head(b"GET /api/x", *[b"a: b"] * 128)))
    assert status == 431
    assert "128 headers" in error["message"]


async def test_memory_of_tiny_headers_is_counted_before_their_head_is_complete(clients, connections) -> None:
    _, _, connection = await clients.connect(b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 127)
    await until(lambda: len(connection.headers or ()) == 126)  # the parser keeps the last one until it is sure of it
    assert connection.memory > 126 * 150


async def test_rejects_too_many_pipelined_requests(fast) -> None:
    status, error = read_envelope(await fast.say(APP * 200))
    assert status == 400
    assert "pipelined" in error["message"]


async def test_does_not_keep_trailers(clients) -> None:
    trailers = b"0\r\n" + b"X-Trailer: y\r\n" * 100
    _, _, connection = await clients.connect(head(b"POST /api/x", b"Transfer-Encoding: chunked") + trailers)
    await until(lambda: connection.cycle is not None)
    await asyncio.sleep(0.02)
    assert len(connection.headers) == 2


@pytest.mark.parametrize(
    ("start", "more"), [(b"0\r\nX-Trailer: ", b"y"), (b"1;a=", b"y"), (b"", b"0"), (b"0\r\n", b"a:b\r\n")]
)
async def test_rejects_endless_bytes_around_a_body(clients, start: bytes, more: bytes) -> None:
    """Also after the answer, when a body is read to be forgotten: the parser would collect a field."""
    chunked = head(b"POST /hello", b"Transfer-Encoding: chunked") + b"1\r\nx\r\n"
    reader, writer, connection = await clients.connect(chunked)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 405 ")
    writer.write(start)
    for _ in range(20):
        if connection.transport.is_closing():
            break
        writer.write(more * (16_000 // len(more)))
        await writer.drain()
        await asyncio.sleep(0.001)
    await until(connection.transport.is_closing)


async def test_a_body_of_many_chunks_has_no_trailer(clients) -> None:
    reader, writer, _ = await clients.connect(head(b"POST /api/x", b"Transfer-Encoding: chunked"))
    for _ in range(10):
        writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        await asyncio.sleep(0.001)
    writer.write(b"0\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def test_heads_of_earlier_requests_do_not_count_as_trailers(clients) -> None:
    reader, writer, _ = await clients.connect()
    for _ in range(20):
        writer.write(head(b"GET /api/x", b"X-Long: " + b"x" * 4_000))
        await reader.readuntil(b"/api/x ")
    writer.write(head(b"POST /api/x", b"Content-Length: 4"))
    await writer.drain()
    await asyncio.sleep(0.02)
    writer.write(b"body")
    assert (await reader.readuntil(b"/api/x body")).startswith(b"HTTP/1.1 200 ")


# Bytes over all connections


@pytest.fixture
async def small(state, previews):
    """A service whose unanswered requests may take 1 MB together."""
    connections = Connections(max_memory=1_000_000)
    async with serve(
        RedirectApp(state, stuck, previews.database), http=protocol_for(state, connections), ws="none"
    ) as wire:
        clients = Clients(wire)
        yield clients, connections
        for writer in clients.writers:
            writer.transport.abort()


async def stuck(scope, receive, send) -> None:
    """Reads the whole body and answers it."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def test_closes_the_oldest_of_too_many_unfinished_bodies(small) -> None:
    clients, connections = small
    begun = head(b"POST /api/x", b"Content-Length: 300000") + b"x" * 200_000
    first = []
    for _ in range(5):
        reader, _, connection = await clients.connect(begun)
        await until(lambda connection=connection: connection.memory >= 200_000 or connection.transport.is_closing())
        first.append((reader, connection))
    assert connections._memory <= 1_000_000
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await first[0][0].readexactly(1)
    clients.writers[-1].write(b"x" * 100_000)
    assert (await first[-1][0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")


async def test_releases_memory_of_answered_and_lost_requests(small) -> None:
    clients, connections = small
    reader, _, _ = await clients.connect(head(b"POST /api/x", b"Content-Length: 100000") + b"x" * 50_000)
    _, lost, _ = await clients.connect(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 10_000)
    await until(lambda: connections._memory >= 60_000)
    clients.writers[0].write(b"x" * 50_000)
    await reader.readuntil(b"\r\n\r\n")
    lost.transport.abort()
    await until(lambda: len(connections) == 1)
    assert connections._memory == 0


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("chunk", [b"", b"1\r\nx\r\n"])
async def test_closes_the_oldest_of_too_many_unfinished_trailers_of_answered_requests(
    small, chunk: bytes, at_once: bool
) -> None:
    """A body that nobody wants is discarded as it comes, but the parser keeps a trailer until it is complete."""
    clients, connections = small
    refused, trailer = head(b"POST /hello", b"Transfer-Encoding: chunked"), b"0\r\nX-Trailer: " + b"y" * 60_000
    for _ in range(30):
        reader, writer, _ = await clients.connect(refused + (chunk + trailer if at_once else b""))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 405 ")
        writer.write(b"" if at_once else chunk + trailer)
        await writer.drain()
    await until(lambda: len(connections) < 20)
    assert 500_000 < connections._memory <= 1_000_000


@pytest.fixture
async def slow(state, previews):
    """A service that reads a body, takes its time until `go`, and answers in pieces. 16 connections, 1 MB."""
    connections, go = Connections(max_connections=16, max_memory=1_000_000), asyncio.Event()

    async def answer(scope, receive, send) -> None:
        while (await receive()).get("more_body", False):
            pass
        await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"10000000")]})
        for _ in range(2):
            await send({"type": "http.response.body", "body": b"x" * 5_000_000, "more_body": True})

    async with serve(
        RedirectApp(state, answer, previews.database), http=protocol_for(state, connections), ws="none"
    ) as wire:
        clients = Clients(wire)
        yield clients, connections, go
        for writer in clients.writers:
            writer.transport.abort()
        go.set()


async def test_complete_requests_close_no_other_connections(slow) -> None:
    clients, connections, _ = slow
    _, _, honest = await clients.connect(head(b"POST /api/x", b"Content-Length: 90000") + b"x" * 40_000)
    await until(lambda: honest.memory)
    for _ in range(8):
        _, writer, connection = await clients.connect(head(b"POST /api/x", b"Content-Length: 300000"))
        for _ in range(3):
            writer.write(b"x" * 100_000)
            await asyncio.sleep(0.005)
        await until(lambda connection=connection: connection.cycle and not connection.is_in_message)
    assert not honest.transport.is_closing()
    assert connections._memory == honest.memory


async def test_counts_bodies_of_pipelined_requests(slow) -> None:
    clients, _, _ = slow
    ahead = head(b"POST /api/x", b"Content-Length: 50000") + b"x" * 50_000
    _, _, connection = await clients.connect(APP + ahead)
    await until(lambda: connection.pipeline and not connection.is_in_message)
    assert connection.memory >= 50_000


async def test_counts_headers_of_pipelined_requests(slow) -> None:
    clients, _, _ = slow
    _, _, connection = await clients.connect(APP + head(b"GET /api/x", *[b"a: b"] * 127) * 10)
    await until(lambda: len(connection.pipeline) == 10)
    assert connection.memory >= 10 * 127 * 150


async def test_a_client_has_time_to_read_a_slow_answer(slow) -> None:
    clients, _, go = slow
    reader, _, connection = await clients.connect(APP)
    await until(lambda: connection.cycle)
    connection.active_at -= 100
    reader._transport.pause_reading()
    go.set()
    await until(lambda: connection.flow.write_paused)
    connection.check(time.monotonic())
    assert not connection.transport.is_closing()


async def test_closes_clients_that_do_not_read_for_others(slow) -> None:
    clients, _, go = slow
    go.set()
    for _ in range(16):
        reader, _, connection = await clients.connect()
        reader._transport.pause_reading()
        clients.writers[-1].write(APP)
        await until(lambda connection=connection: connection.flow.write_paused)
    reader, _, _ = await clients.connect(GET)
    assert b"302 Found" in await reader.readuntil(b"\r\n\r\n")


# Deadlines and rates


async def test_an_idle_connection_is_closed(clients) -> None:
    reader, _, connection = await clients.connect(GET)
    await reader.readuntil(b"\r\n\r\n")
    connection.check(connection.active_at + 14)
    assert not connection.transport.is_closing()
    connection.check(connection.active_at + 16)
    assert await reader.read() == b""


async def test_a_connection_that_the_application_uses_is_not_idle(clients) -> None:
    reader, writer, connection = await clients.connect()
    began = time.monotonic()
    writer.write(APP)
    await reader.readuntil(b"/api/x ")
    assert connection.active_at > began


async def test_half_a_head_times_out_like_an_idle_connection(clients) -> None:
    reader, writer, connection = await clients.connect()
    writer.write(b"GET /hel")
    await until(lambda: connection.is_in_message)
    began = connection.active_at
    for piece in (b"lo HTTP/1.1\r\n", b"Host: "):  # each a sign of life, none of them an end
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.02)
    assert connection.active_at == began
    connection.check(connection.active_at + 16)
    assert read_envelope(await reader.read())[0] == 408


async def test_a_body_has_thirty_seconds(clients) -> None:
    reader, writer, connection = await clients.connect(head(b"POST /api/x", b"Content-Length: 90000") + b"x" * 40_000)
    await until(lambda: connection.memory >= 40_000)
    began = connection.active_at
    writer.write(b"x" * 100)
    await until(lambda: connection.memory >= 40_100)
    assert connection.active_at == began  # what trickles in gives it no more time
    connection.check(began + 29)
    assert not connection.transport.is_closing()
    connection.check(began + 31)
    status, error = read_envelope(await reader.read())
    assert status == 408
    assert "30 seconds" in error["message"]


async def test_a_slow_body_times_out_early(clients) -> None:
    reader, _, connection = await clients.connect(head(b"POST /api/x", b"Content-Length: 90000") + b"x" * 100)
    await until(lambda: connection.memory > 0)
    connection.check(connection.active_at + 4)
    assert not connection.transport.is_closing()
    connection.check(connection.active_at + 6)
    assert read_envelope(await reader.read())[0] == 408


async def test_the_body_of_an_answered_request_extends_no_deadline(clients, connections) -> None:
    reader, writer, connection = await clients.connect(head(b"POST /hello", b"Content-Length: 900000") + b"x" * 9_000)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 405 ")  # before the body was there
    assert not connection.cycle.body  # freed, although the connection stays
    answered = connection.active_at
    writer.write(b"x" * 100_000)
    await writer.drain()
    await asyncio.sleep(0.02)
    assert connection.active_at == answered
    assert connections._memory == 0  # it is read to be forgotten
    connection.check(answered + 16)
    assert connection.transport.is_closing()


async def test_a_client_that_does_not_read_is_not_read_from(clients) -> None:
    """Its answers would fill our memory; once it reads, it gets every one of them."""
    reader, writer, connection = await clients.connect()
    reader._transport.pause_reading()
    sent = 0
    while connection.transport.is_reading() and sent < 200_000:
        writer.write(GET)
        sent += 1
        await asyncio.sleep(0)
    assert not connection.transport.is_closing()
    assert connection.transport.get_write_buffer_size() < 1 << 20
    reader._transport.resume_reading()
    for _ in range(sent):
        assert b"302 Found" in await reader.readuntil(b"\r\n\r\n")


async def test_aborts_a_client_that_never_reads(clients, connections) -> None:
    reader, writer, connection = await clients.connect()
    reader._transport.pause_reading()
    while connection.transport.is_reading():
        writer.write(GET * 10)
        await asyncio.sleep(0)
    connection.check(connection.active_at + 16)
    await until(lambda: not len(connections))


# Descriptors


@pytest.fixture
async def crowded(state, previews):
    """A service that may have 16 connections."""
    connections = Connections(max_connections=16)
    async with serve(
        RedirectApp(state, stuck, previews.database), http=protocol_for(state, connections), ws="none"
    ) as wire:
        clients = Clients(wire)
        yield clients, connections
        for writer in clients.writers:
            writer.transport.abort()


async def test_closes_the_oldest_incomplete_connection_at_the_limit(crowded) -> None:
    clients, connections = crowded
    answered = [await clients.connect(GET) for _ in range(3)]
    for reader, _, _ in answered:
        await reader.readuntil(b"\r\n\r\n")
    stalled = [await clients.connect(b"GET /hel") for _ in range(13)]
    await until(lambda: all(connection.is_incomplete for _, _, connection in stalled))
    for _, _, connection in stalled:
        connection.active_at -= 5
    stalled[4][2].active_at -= 5
    reader, _, _ = await clients.connect(GET)
    assert b" 302 " in await reader.readuntil(b"\r\n\r\n")
    await until(lambda: stalled[4][2] not in connections._open)
    assert sum(connection in connections._open for _, _, connection in stalled) >= 11
    assert all(connection in connections._open for _, _, connection in answered)


async def test_closes_idle_connections_if_none_is_incomplete(crowded) -> None:
    clients, connections = crowded
    for _ in range(40):
        reader, _, _ = await clients.connect(GET)
        assert b" 302 " in await reader.readuntil(b"\r\n\r\n")
    assert len(connections) <= 16


async def test_closes_connections_of_the_address_with_most_first(crowded) -> None:
    clients, connections = crowded
    stalled = [await clients.connect(b"GET /hel") for _ in range(16)]
    await until(lambda: all(connection.is_incomplete for _, _, connection in stalled))
    for _, _, connection in stalled:
        connection.active_at -= 5
    alone = stalled[0][2]
    alone.peer = b"192.0.2.1"
    alone.active_at -= 5
    await clients.connect(GET)
    assert alone in connections._open
    assert stalled[1][2] not in connections._open or stalled[2][2] not in connections._open


def test_raises_the_descriptor_limit() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 512));"
        "from waypost.http.connections import raise_descriptor_limit as limit;"
        "print(limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 512
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "512 512 512\n"


def test_leaves_a_descriptor_for_a_file_to_each_connection() -> None:
    """Slow readers of images took all descriptors before connections were at their limit."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512));"
        "from waypost.http.connections import Connections; print(Connections()._max_connections)"
    )
    handshakes = 512 // 4
    assert 2 * int(subprocess.check_output([sys.executable, "-c", code])) + handshakes < 512


# What the parser refuses


@pytest.mark.parametrize(
    "request_",
    [
        b"hello?\r\n\r\n",
        b"GET /hello HTTP/9.9\r\nHost: go.test\r\n\r\n",
        head(b"GET /api/x", b"Bad Name: x"),
        head(b"GET /api/x", b"X-A: a\0b"),
        head(b"GET /api/x", b"Content-Length: 1", b"Content-Length: 2"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_answers_malformed_requests_with_the_envelope(request_, fast) -> None:
    status, error = read_envelope(await fast.say(request_))
    assert (status, error["code"]) == (400, "http_error")


async def test_lists_the_methods_for_an_unknown_method(fast) -> None:
    answer = await fast.say(head(b"BREW /api/v1/links"))
    status, error = read_envelope(answer)
    assert (status, error["code"]) == (405, "method_not_allowed")
    assert b"\r\nallow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n" in answer
    assert "GET, HEAD, POST" in error["message"]


async def test_malformed_requests_are_counted_and_logged_once_a_minute(state, previews, caplog, capsys) -> None:
    counted = []
    connections = Connections(count_malformed=counted.append)
    async with serve(
        RedirectApp(state, stuck, previews.database), http=protocol_for(state, connections), ws="none"
    ) as wire:
        for _ in range(3):
            await wire.say(b"hello?\r\n\r\n")
        connections.report()
        await wire.say(b"hello?\r\n\r\n")
        connections.report()
    assert counted == [3, 1]
    logged = capsys.readouterr().out
    assert logged.count("malformed requests refused") == 1
    assert "hello" not in logged
    assert caplog.records == []  # uvicorn would log each of them


@pytest.mark.parametrize("target", [b"http://go.test/hello", b"HTTP://GO.test/hello?r=qr", b"https://go.test:80/hello"])
async def test_an_absolute_url_names_the_host(target, fast, visits) -> None:
    assert b" 302 " in await fast.say(b"GET %s HTTP/1.1\r\nHost: evil.example\r\n\r\n" % target)
    assert len(visits()) == 1


async def test_ignores_the_host_header_with_an_absolute_url(fast, visits) -> None:
    answer = await fast.say(b"GET http://evil.example/hello HTTP/1.1\r\nHost: go.test\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert visits() == []
    assert b" 200 " in await fast.say(b"GET http://go.test HTTP/1.1\r\nHost: evil.example\r\n\r\n")


@pytest.mark.parametrize(
    "target", [b"http://user@go.test/hello", b"ftp://go.test/hello", b"http:///hello", b"go.test:80"]
)
async def test_rejects_other_targets(target, fast) -> None:
    method = b"CONNECT" if target == b"go.test:80" else b"GET"
    answer = await fast.say(method + b" " + target + b" HTTP/1.1\r\nHost: go.test\r\n\r\n")
    assert read_envelope(answer)[0] == 400
