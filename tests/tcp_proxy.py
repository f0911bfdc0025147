"""A TCP proxy before PostgreSQL's socket that can fall silent, as a network does that drops packets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from sqlalchemy.engine import make_url


class TcpProxy:
    def __init__(self, target: str) -> None:
        self._target = target
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: list[asyncio.StreamWriter] = []
        self.port = 0

    def fall_silent(self) -> None:
        """Keep what is sent from now on, in both directions, without closing a connection."""
        self._flows.clear()

    def speak(self) -> None:
        """Deliver it."""
        self._flows.set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["TcpProxy"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.speak()
            server.close()
            for writer in self._writers:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            other_reader, other_writer = await asyncio.open_unix_connection(self._target)
            self._writers += [writer, other_writer]
            await asyncio.gather(self._pump(reader, other_writer), self._pump(other_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            await self._flows.wait()
            writer.write(data)
        writer.close()


@contextlib.asynccontextmanager
async def before(url: str) -> AsyncIterator[tuple[TcpProxy, str]]:
    """(the proxy, the database's URL through it)"""
    parsed = make_url(url)
    async with TcpProxy(f"{parsed.query['host']}/.s.PGSQL.{parsed.query['port']}").open() as proxy:
        yield proxy, f"postgresql://{parsed.username}@127.0.0.1:{proxy.port}/{parsed.database}"
