"""An HTTP proxy for CONNECT, as companies have one. It records what it is asked for."""

import asyncio
import base64
import contextlib
from collections.abc import Mapping
from typing import Self


class ConnectProxy:
    """Connects to what it is asked for: to another host where `leads` names one, and not where `refuses` has a status.

    Use it as a context. It listens on 127.0.0.3, where nothing else does.
    """

    def __init__(
        self,
        *,
        leads: Mapping[str, str] | None = None,
        refuses: Mapping[str, int] | None = None,
        credentials: str = "",
        host: str = "127.0.0.3",
    ) -> None:
        self._leads, self._refuses, self._credentials, self._host = leads or {}, refuses or {}, credentials, host
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[str] = []
        self.heads: list[str] = []

    def url(self, user: str = "", query: str = "") -> str:
        return f"http://{user and user + '@'}{self._host}:{self.port}{query}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.gather(*self._tasks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, authority, _ = head.split(maxsplit=2)
            assert method == "CONNECT", head
            self.heads.append(head)
            self.asked.append(authority)
            host, _, port = authority.rpartition(":")
            if status := self._find_refusal(head, host):
                writer.write(b"HTTP/1.1 %d Refused\r\nContent-Length: 2\r\n\r\nNo" % status)
            else:
                await self._pass_on(reader, writer, self._leads.get(host, host.strip("[]")), int(port))
        writer.close()

    def _find_refusal(self, head: str, host: str) -> int | None:
        expected = f"Basic {base64.b64encode(self._credentials.encode()).decode()}"
        if self._credentials and f"\r\nProxy-Authorization: {expected}\r\n" not in head:
            return 407
        return self._refuses.get(host)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
        try:
            other_reader, other_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n")
        await asyncio.gather(_pump(reader, other_writer), _pump(other_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
