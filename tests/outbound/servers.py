"""Scripted servers on loopback: a name server, receivers of every kind of malice, a canary, Safe Browsing.

Loopback has many addresses: a test opens one of them (`OPEN`) in place of the public internet, the others stay private.
"""

import asyncio
import gzip
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Self
from urllib.parse import parse_qs, urlsplit

import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

PRIVATE = "127.0.0.1"
OPEN = "127.0.0.2"
ALLOW = [ip_network(f"{OPEN}/32")]
ALLOW_SIX = [ip_network("::1/128")]

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


class NameServer(asyncio.DatagramProtocol):
    """Answers each question with the name's next scripted turn; the last one stays. Time to live is always 0.

    Answers beyond 512 bytes are truncated, and complete over TCP.
    """

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], list[Sequence[str]]] = {}
        self._failing: dict[str, str] = {}
        self.questions: list[tuple[str, str]] = []
        self.over_tcp = 0
        self.silent = False
        self.silent_about: set[str] = set()

    def has(self, name: str, *turns: Sequence[str], kind: str = "A") -> None:
        """`turns`: the addresses (or, for CNAME, the target; for TXT, quoted texts) of the first answer, the second, …

        A turn of nothing: there is such a name, and no such record.
        """
        self._turns[name, kind] = list(turns)

    def forgets(self, name: str) -> None:
        self._turns = {key: turns for key, turns in self._turns.items() if key[0] != name}
        self._failing.pop(name, None)

    def fails(self, name: str, rcode: str = "SERVFAIL") -> None:
        self._failing[name] = rcode

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._transport = transport
        self.address = "{}:{}".format(*transport.get_extra_info("sockname"))

    def datagram_received(self, data: bytes, peer: tuple[str, int]) -> None:
        if answer := self._heard(data):
            self._transport.sendto(answer.to_wire(max_size=512, prefer_truncation=True), peer)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.over_tcp += 1
        asked = await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
        if answer := self._heard(asked):
            wire = answer.to_wire(max_size=65_535)
            writer.write(len(wire).to_bytes(2) + wire)
            await writer.drain()
        writer.close()

    def _heard(self, data: bytes) -> dns.message.Message | None:
        question = dns.message.from_wire(data)
        name, kind = question.question[0].name, dns.rdatatype.to_text(question.question[0].rdtype)
        text = name.to_text(omit_final_dot=True)
        self.questions.append((text, kind))
        return None if self.silent or text in self.silent_about else self._answer(question, name, kind)

    def _answer(self, question: dns.message.Message, name: dns.name.Name, kind: str) -> dns.message.Message:
        answer = dns.message.make_response(question)
        known = {known for known, _ in self._turns}
        text = name.to_text(omit_final_dot=True)
        if text not in known:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        if text in self._failing:
            answer.set_rcode(dns.rcode.from_text(self._failing[text]))
        hops = 20 if kind != "CNAME" else 0
        while (hops := hops - 1) >= 0 and (target := self._next(text, "CNAME")):
            answer.answer.append(dns.rrset.from_text(name, 0, "IN", "CNAME", f"{target[0]}."))
            text, name = target[0], dns.name.from_text(target[0])
        if addresses := self._next(text, kind):
            values = [f"{value}." for value in addresses] if kind == "CNAME" else addresses
            answer.answer.append(dns.rrset.from_text(name, 0, "IN", kind, *values))
        return answer

    def _next(self, name: str, kind: str) -> Sequence[str]:
        turns = self._turns.get((name, kind), [()])
        return turns.pop(0) if len(turns) > 1 else turns[0]


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    transport, server, over_tcp = await _on_one_port()
    try:
        async with over_tcp:
            yield server
    finally:
        transport.close()


async def _on_one_port() -> tuple[asyncio.DatagramTransport, NameServer, asyncio.Server]:
    """The system chooses one that is free for UDP; for TCP another program may have it."""
    loop = asyncio.get_running_loop()
    while True:
        transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=(PRIVATE, 0))
        try:
            port = transport.get_extra_info("sockname")[1]
            return transport, server, await asyncio.start_server(server.accept, PRIVATE, port)
        except OSError:
            transport.close()


class Receiver:
    """Takes one request per connection (with `keeps` one after another) and plays `script` to it.

    Remembers heads and bodies.
    """

    def __init__(
        self,
        script: Script,
        host: str = OPEN,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        keeps: bool = False,
    ) -> None:
        self._script, self._host, self._port, self._tls, self._keeps = script, host, port, tls, keeps
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.gone = asyncio.Event()
        """Set when a client has left and its script has ended."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, self._port, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"{'https' if self._tls else 'http'}://{host or self._host}:{self.port}{path}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._play(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(_length(head)))
                await self._script(reader, writer, head)
                if not self._keeps:
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client left; some scripts wait for just that
        finally:
            writer.close()
            self.gone.set()


def canary(host: str = PRIVATE, port: int = 0) -> Receiver:
    """Must see no connection: assert `connections == 0`."""
    return Receiver(page("<title>private</title>"), host, port)


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)


def response(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """Header names in Python's spelling: `content_type="text/html"`."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Scripted\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


def always(answer: bytes) -> Script:
    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
        writer.write(answer)
        await writer.drain()

    return script


def page(html: str, status: int = 200) -> Script:
    return always(response(status, html.encode(), content_type="text/html; charset=utf-8"))


def redirect(target: str, status: int = 302) -> Script:
    return always(response(status, location=target))


def paths(scripts: dict[str, Script]) -> Script:
    """Another script for every path."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        await scripts[head.split()[1].decode()](reader, writer, head)

    return script


_HTML_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


async def stall(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _head: bytes) -> None:
    """Never answers."""
    await reader.read()


async def stall_after_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    writer.write(_HTML_HEAD + b"Content-Length: 10\r\n\r\n")
    await reader.read()


async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    """A byte now and then: every single read is fast, the response never ends."""
    writer.write(_HTML_HEAD + b"\r\n")
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def drip_head(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    writer.write(_HTML_HEAD + b"\r\n<title>endless</title>")
    while not writer.is_closing():
        writer.write(b"x" * 65_536)
        await writer.drain()


async def huge_head(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not writer.is_closing():
        writer.write(b"x" * 65_536)
        await writer.drain()


async def many_headers(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"X-A: b\r\n" * 1000)
        await writer.drain()


class Flood:
    """Sends `start`, then `more` for as long as it is taken, and counts the bytes."""

    def __init__(self, start: bytes, more: bytes) -> None:
        self._start, self._more = start, more
        self.sent = 0

    async def __call__(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
        writer.write(self._start)
        while not writer.is_closing():
            writer.write(self._more)
            await writer.drain()  # does not wait while the buffer has space, and the other side shares this loop
            await asyncio.sleep(0)
            self.sent += len(self._more)


def endless_interim() -> Flood:
    """A final status never comes."""
    return Flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


async def reset(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _head: bytes) -> None:
    writer.write(_HTML_HEAD + b"Content-Length: 1000\r\n\r\n<title>half")
    await writer.drain()


def gzip_bomb(megabytes: int) -> Script:
    packed = gzip.compress(b"<title>bomb</title>" + bytes(megabytes * 1_048_576))
    return always(response(200, packed, content_type="text/html", content_encoding="gzip"))


class SafeBrowsingServer:
    """The Lookup API v4 as documented; a request that it would refuse is answered as it would be."""

    def __init__(self, key: str, *dangerous: str) -> None:
        self._key, self._dangerous = key, set(dangerous)

    async def __call__(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        method, target, _ = head.split(b"\r\n")[0].decode().split()
        parts = urlsplit(target)
        if parts.path != "/v4/threatMatches:find" or method != "POST":
            writer.write(response(404))
        elif parse_qs(parts.query).get("key") != [self._key]:
            writer.write(_json(400, {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID"}}))
        else:
            writer.write(self._answer(self.receiver.bodies[-1]))
        await writer.drain()

    def _answer(self, body: bytes) -> bytes:
        asked = json.loads(body)
        info = asked["threatInfo"]
        faults = [
            not asked["client"]["clientId"],
            not set(info["threatTypes"])
            <= {"MALWARE", "SOCIAL_ENGINEERING", "UNWANTED_SOFTWARE", "POTENTIALLY_HARMFUL_APPLICATION"},
            info["platformTypes"] != ["ANY_PLATFORM"],
            info["threatEntryTypes"] != ["URL"],
            not 0 < len(info["threatEntries"]) <= 500,
        ]
        if any(faults):
            return _json(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT"}})
        matches = [_match(entry) for entry in info["threatEntries"] if entry["url"] in self._dangerous]
        return _json(200, {"matches": matches} if matches else {})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Receiver]:
        self.receiver = Receiver(self)
        async with self.receiver:
            yield self.receiver


def _match(entry: dict[str, str]) -> dict[str, object]:
    kinds = {"threatType": "MALWARE", "platformType": "ANY_PLATFORM", "threatEntryType": "URL"}
    return {**kinds, "threat": entry, "cacheDuration": "300s"}


def _json(status: int, content: object) -> bytes:
    return response(status, json.dumps(content).encode(), content_type="application/json")
