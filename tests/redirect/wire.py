"""Redirects of routes in a dictionary, served twice: by our protocol, and by plain uvicorn to compare with."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from uuid import UUID

import pytest
import uvicorn
from starlette.types import Scope

from waypost.http.connections import Connections
from waypost.kit.errors import RateLimited, Unavailable
from waypost.redirect import (
    NEVER,
    AliasTable,
    ChangeFeed,
    HostTable,
    NearTable,
    RedirectState,
    Route,
    RouteTable,
    Spool,
    new_host,
    new_route,
)
from waypost.redirect.address_filter import AddressFilter
from waypost.redirect.asgi import RedirectApp
from waypost.redirect.click_limits import ClickLimits
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.pages import PLAIN, Appearance
from waypost.redirect.password_pages import Cookies
from waypost.redirect.protocol import protocol_for
from waypost.redirect.report_pages import LinkReport
from waypost.redirect.routing.requests import VisitorReader
from waypost.redirect.spool import Visit, decode, read_lines, segments
from waypost.version import redirect_form

in_python = pytest.mark.skipif(
    redirect_form() == "compiled", reason="replaces a method, which machine code calls itself"
)

HOST = b"go.test"
LINK = b"0190" * 8


def route(destination: str = "https://example.com/", *, host: bytes = HOST, expires_at: float = NEVER) -> Route:
    return new_route(host, destination, UUID(LINK.decode()), expires_at)


@dataclass
class Routes:
    """A source; counts how often it was asked."""

    routes: dict[bytes, Route] = field(default_factory=dict)
    is_embedded: bool = True
    is_gone: bool = False
    asked: list[bytes] = field(default_factory=list)
    gate: asyncio.Event | None = None

    @property
    def find_sync(self):
        return self._find if self.is_embedded else None

    def _find(self, slug: bytes) -> Route | None:
        self.asked.append(slug)
        if self.is_gone:
            raise Unavailable
        return self.routes.get(slug)

    async def find(self, slug: bytes) -> Route | None:
        found = self._find(slug)
        if self.gate:
            await self.gate.wait()
        return found


@pytest.fixture
def source() -> Routes:
    return Routes({b"hello": route()})


@pytest.fixture
def feed(tmp_path: Path) -> AsyncIterator[ChangeFeed]:
    feed = ChangeFeed(tmp_path / "changes")
    yield feed
    feed.close()


@pytest.fixture
def table(source: Routes, feed: ChangeFeed) -> RouteTable:
    return RouteTable(source, feed, capacity=100_000, shared_host=HOST)


@pytest.fixture
def hosts(feed: ChangeFeed) -> HostTable:
    return HostTable(Routes({b"custom.example": new_host(None, None)}), feed, capacity=1_000)


@pytest.fixture
def alias_source() -> Routes:
    return Routes()


@pytest.fixture
def aliases(alias_source: Routes, feed: ChangeFeed, table: RouteTable, hosts: HostTable) -> AliasTable:
    return AliasTable(alias_source, feed, hosts, table)


@pytest.fixture
def near_source() -> Routes:
    """By host and address in lower case."""
    return Routes(is_embedded=False)


@pytest.fixture
def near(near_source: Routes, feed: ChangeFeed, table: RouteTable, hosts: HostTable, aliases: AliasTable) -> NearTable:
    near = NearTable(near_source, feed, hosts, table, aliases, shared_host=HOST, ignores_case=True)
    addresses = AddressFilter(1_000)
    for key in near_source.routes:
        addresses.add(key.partition(b"/")[2])
    near.start_loading()
    near.finish_loading(addresses)
    return near


@pytest.fixture
def state(
    table: RouteTable, hosts: HostTable, aliases: AliasTable, near: NearTable, tmp_path: Path
) -> AsyncIterator[RedirectState]:
    spool, host = Spool(tmp_path / "spool", limit=1 << 30), HOST.decode()
    yield RedirectState(
        *(table, hosts, aliases, near, spool),
        is_bot=is_bot,
        shared_host=host,
        app_host=host,
        app_segments={"", "api"},
        new_visitor_reader=new_visitor_reader,
        new_click_limits=lambda: new_click_limits(tmp_path),
    )
    spool.close()


def new_visitor_reader() -> VisitorReader:
    """Two addresses have a country."""
    countries = {"192.0.2.1": "DE", "192.0.2.2": "FR"}
    return VisitorReader(lambda: lambda address: countries.get(address, ""), [ip_network("127.0.0.0/8")], b"key")


def new_click_limits(directory: Path) -> ClickLimits:
    """All clicks are in the file."""

    async def none(_link: bytes) -> int:
        return 0

    return ClickLimits(directory / "click_counts", none, none)


def is_bot(user_agent: bytes) -> bool:
    return b"Bot" in user_agent


@dataclass
class Previews:
    """Of every link a page for bots and an info page that say its id; the app links of hosts."""

    app_links: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)
    app_links_asked: list[bytes] = field(default_factory=list)
    appearances: dict[bytes, Appearance] = field(default_factory=dict)
    appearances_asked: list[bytes] = field(default_factory=list)
    reports: list[tuple[bytes, LinkReport]] = field(default_factory=list)
    is_gone: bool = False
    has_link: bool = True
    pages_asked: int = 0
    gate: asyncio.Event | None = None
    waiting: int = 0

    @property
    def database(self) -> DatabaseCalls:
        return DatabaseCalls(
            preview=self._page_of,
            info_page=self._info_of,
            app_links=self._app_links_of,
            appearance=self._appearance_of,
            logo=self._logo_of,
            password_version=self._password_version,
            store_report=self._store_report,
        )

    async def _app_links_of(self, host: bytes) -> Mapping[bytes, bytes]:
        self.app_links_asked.append(host)
        if self.is_gone:
            raise Unavailable
        return self.app_links.get(host, {})

    async def _appearance_of(self, host: bytes) -> Appearance:
        self.appearances_asked.append(host)
        if self.is_gone:
            raise Unavailable
        return self.appearances.get(host, PLAIN)

    async def _logo_of(self, _: bytes) -> bytes:
        return b"PNG"

    async def _info_of(self, link: bytes, appearance: Appearance) -> bytes | None:
        page = await self._page_of(link)
        return page and b"<h1>Info</h1>" + appearance.name.encode() + page

    async def _password_version(self, link: bytes, password: str, _scope: Scope) -> int | None:
        if password == "too often":
            raise RateLimited(1)
        if self.is_gone:
            raise Unavailable
        return 3 if (link, password) == (LINK, "open sesame 🔑") else None

    async def _store_report(self, link: bytes, report: LinkReport, _scope: Scope) -> None:
        if self.is_gone:
            raise Unavailable
        self.reports.append((link, report))

    async def _page_of(self, link: bytes) -> bytes | None:
        self.pages_asked += 1
        await asyncio.sleep(0)  # other visits come between
        if self.gate:
            self.waiting += 1
            await self.gate.wait()
            self.waiting -= 1
        if self.is_gone:
            raise Unavailable
        return b"<title>" + link + b"</title>" if self.has_link else None


@pytest.fixture
def previews() -> Previews:
    return Previews()


@pytest.fixture
def visits(state: RedirectState, tmp_path: Path):
    """What the spool holds by now."""

    def read() -> list[Visit]:
        found = []
        for path in segments(tmp_path / "spool"):
            found += [decode(line) for line in read_lines(path, 0, 1 << 20)[0]]
        return found

    return read


async def echo(scope, receive, send) -> None:
    """The application behind the state: answers with the method and as much body as it was sent."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    answer = b"app %s %s %s" % (scope["method"].encode(), scope["raw_path"], body)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(answer))]})
    await send({"type": "http.response.body", "body": answer})


@dataclass
class Wire:
    port: int
    server: uvicorn.Server

    async def say(self, *chunks: bytes, answers: int = 1, bodies: bool = True) -> bytes:
        """Sends the chunks one after the other; reads until so many answers came or the connection ends.

        `bodies`: whether what an answer says of its length is followed by as much.
        """
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for chunk in chunks:
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(0.01 if len(chunks) > 1 else 0)  # so that chunks arrive apart
            return await _read(reader, answers, bodies=bodies)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, answers: int, *, bodies: bool) -> bytes:
    seen = b""
    while answers:
        try:
            async with asyncio.timeout(60):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            return seen + error.partial
        except TimeoutError:
            return seen + b"(nothing more comes)"
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        is_final = not head.startswith(b"HTTP/1.1 1")
        body = await reader.readexactly(length) if length and is_final and bodies else b""
        seen += head + body
        answers -= is_final
    return seen


@contextlib.asynccontextmanager
async def serve(site, **config) -> AsyncIterator[Wire]:
    settings = {"host": "127.0.0.1", "port": 0, "lifespan": "off", "log_level": "critical", "access_log": False}
    server = uvicorn.Server(uvicorn.Config(site, **(settings | {"server_header": False} | config)))
    server.capture_signals = contextlib.nullcontext
    is_over = asyncio.Event()

    async def main_loop() -> None:
        """Uvicorn's own looks every tenth of a second whether it is over."""
        await server.on_tick(0)
        await is_over.wait()

    server.main_loop = main_loop
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield Wire(server.servers[0].sockets[0].getsockname()[1], server)
    finally:
        server.force_exit = True
        is_over.set()
        await task


@pytest.fixture
def connections() -> Connections:
    return Connections()


def serve_fast(
    state: RedirectState, connections: Connections, previews: Previews
) -> contextlib.AbstractAsyncContextManager[Wire]:
    site = RedirectApp(state, echo, previews.database, cookies=Cookies([b"key"]))
    return serve(site, http=protocol_for(state, connections), ws="none")


@pytest.fixture
async def fast(state: RedirectState, connections: Connections, previews: Previews) -> AsyncIterator[Wire]:
    async with serve_fast(state, connections, previews) as wire:
        yield wire


@pytest.fixture
async def plain(state: RedirectState, previews: Previews) -> AsyncIterator[Wire]:
    async with serve(RedirectApp(state, echo, previews.database, cookies=Cookies([b"key"])), http="httptools") as wire:
        yield wire
