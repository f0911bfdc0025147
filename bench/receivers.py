"""Webhook receivers over TLS, as fast as a Python process allows: `python -m bench.receivers DIRECTORY FAST CONTROL`.

`FAST` of them respond immediately, one hangs, and one never stops sending. Their certificate is in `DIRECTORY`. On the
plain HTTP port `CONTROL`, `/ports` lists their ports in this order, and `/delays` the time from `data.at` (microseconds
since 1970) to receipt of each delivery since the last request.
"""

import asyncio
import json
import re
import ssl
import sys
import time
from functools import partial
from pathlib import Path
from typing import cast

import uvloop

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_AT = re.compile(rb'"at":(\d+)')
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"
_ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + bytes(16_384)


class Receiver(asyncio.Protocol):
    def __init__(self, kind: str, delays: list[float]) -> None:
        self._kind = kind
        self._delays = delays
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, _ = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        found = _LENGTH.search(head)
        size = len(head) + 4 + (int(found[1]) if found else 0)
        if len(self._buffer) >= size:
            if at := _AT.search(self._buffer):
                self._delays.append(time.time() - int(at[1]) / 1_000_000)
            self._buffer = self._buffer[size:]
            self._answer()

    def _answer(self) -> None:
        if self._kind == "fast":
            self._transport.write(_OK)
        elif self._kind == "endless":
            self._transport.write(_ENDLESS)
            self._keep_sending()

    def _keep_sending(self) -> None:
        """Until the client closes the connection."""
        if not self._transport.is_closing():
            if self._transport.get_write_buffer_size() < 65_536:
                self._transport.write(bytes(16_384))
            asyncio.get_running_loop().call_later(0.001, self._keep_sending)


class Control(asyncio.Protocol):
    def __init__(self, ports: list[int], delays: list[float]) -> None:
        self._ports = ports
        self._delays = delays

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        body = json.dumps(self._ports if b" /ports " in data else self._delays).encode()
        if b" /delays " in data:
            self._delays.clear()
        self._transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self._transport.close()


async def _serve(directory: Path, fast: int, control: int) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(directory / "receiver.pem")
    loop, ports, delays = asyncio.get_running_loop(), list[int](), list[float]()
    for kind in ["fast"] * fast + ["hang", "endless"]:
        server = await loop.create_server(partial(Receiver, kind, delays), "127.0.0.1", 0, ssl=tls, backlog=1024)
        ports.append(server.sockets[0].getsockname()[1])
    await loop.create_server(partial(Control, ports, delays), "127.0.0.1", control)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
