"""POST requests over keep-alive connections, since opening a connection costs more than everything else.

A new connection goes only where `Outbound.request` may go. A kept one is reused for the same scheme, host and port, for
a short time, and only if nothing arrived after its last response.
"""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from socket import AddressFamily, socket
from typing import Protocol, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.tracing import Trace

from waypost.kit.urls import Url
from waypost.outbound import client
from waypost.outbound.bodies import read_raw_body
from waypost.outbound.client import Outbound, OutboundResponse, open_session, target
from waypost.outbound.connection import BoundedConnection
from waypost.outbound.errors import Unreachable, reason_of
from waypost.outbound.pinned_addresses import PinnedAddresses

HEADERS = {**client.HEADERS, "Accept-Encoding": "identity"}
MAX_IDLE = 4.0  # seconds; many servers close after five, and a POST that races with the close is lost
MAX_AGE = 60.0  # seconds until a host is resolved again
MAX_KEPT = 512  # idle connections in total


@dataclass(frozen=True, slots=True)
class _Exchange:
    url: Url
    max_body: int


_exchange: ContextVar[_Exchange] = ContextVar("exchange")
_pinned: ContextVar[PinnedAddresses] = ContextVar("pinned")  # the connector has one resolver for all requests
_target = lru_cache(4_096)(target)


class Post(Protocol):
    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """As `Poster.post`."""


class Poster:
    """Create it inside a running event loop."""

    def __init__(self, outbound: Outbound) -> None:
        self._session = open_session(_PosterConnector(outbound))

    async def post(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """Send one POST and read the complete response within `deadline` seconds. Raises NotPublic, Unreachable.

        A body whose Content-Length exceeds `max_body` bytes is not read; one without a length that exceeds them is
        Unreachable. Bodies are never decompressed.
        """
        _exchange.set(_Exchange(url, max_body))
        try:
            async with asyncio.timeout(deadline):
                response = await self._session.request(
                    "POST", _target(url), headers={**HEADERS, **headers}, data=body, allow_redirects=False
                )
                try:
                    return OutboundResponse(response.status, response.headers, await _body(response, max_body), url)
                finally:
                    if not response.closed:
                        response.close()
        except TimeoutError:
            raise Unreachable("timed out") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(reason_of(error)) from error

    async def close(self) -> None:
        """Close the idle connections."""
        await self._session.close()


async def _body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    if (response.content_length or 0) > limit:
        return b""
    return await read_raw_body(response.content, limit)


class _KeptConnection(BoundedConnection):
    """Between two requests, from `rest` to `begin`, received data closes it: it belongs to no response."""

    def __init__(self, resting: dict["_KeptConnection", None], loop: asyncio.AbstractEventLoop) -> None:
        self._resting = resting
        super().__init__(loop)
        self._opened = loop.time()

    def is_reusable(self) -> bool:
        """New, or neither too old nor with unread data after its last response."""
        if self not in self._resting:
            return True
        return not self.should_close and self._loop.time() - self._opened < MAX_AGE and not self._has_unread_data()

    def begin(self, max_body: int) -> None:
        super().begin(max_body)
        self._resting.pop(self, None)

    def rest(self) -> None:
        self._resting[self] = None
        if len(self._resting) > MAX_KEPT:
            next(iter(self._resting)).close()

    def data_received(self, data: bytes) -> None:
        if data and self in self._resting:
            self.close()
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._resting.pop(self, None)
        super().connection_lost(exc)

    def close(self) -> None:
        self._resting.pop(self, None)
        super().close()

    def _has_unread_data(self) -> bool:
        """Whether a message has begun: the next response's parser would take the rest of it for its start."""
        try:
            return self._parser is not None and self._parser.feed_eof() is not None
        except HttpProcessingError:
            return True


class _PosterConnector(aiohttp.TCPConnector):
    """Checks new connections, and reuses kept ones."""

    def __init__(self, outbound: Outbound) -> None:
        super().__init__(
            resolver=_Resolver(),
            socket_factory=_open_socket,
            ssl=outbound.tls,
            use_dns_cache=False,
            keepalive_timeout=MAX_IDLE,
            limit=0,
        )
        self._factory = cast("partial[ResponseHandler]", partial(_KeptConnection, {}, self._loop))
        self._outbound = outbound

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # aiohttp's
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        while not (kept := _kept(connection)).is_reusable():
            connection.close()
            connection = await super().connect(req, traces, timeout)
        kept.begin(_exchange.get().max_body)
        connection.add_callback(kept.rest)
        return connection

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # aiohttp's
    ) -> ResponseHandler:
        pinned = await self._outbound.pin(_exchange.get().url)
        _pinned.set(pinned)
        opened = None
        try:
            opened = await super()._create_connection(req, traces, timeout)
            pinned.check_connected()
        except (aiohttp.ClientError, OSError) as error:
            if opened is not None:  # an empty queue of responses is false
                opened.abort()
            raise pinned.refused or Unreachable(reason_of(error)) from error
        return opened


class _Resolver(AbstractResolver):
    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AddressFamily.AF_INET
    ) -> list[ResolveResult]:
        return await _pinned.get().resolve(host, port, family)

    async def close(self) -> None:
        """Holds nothing."""


def _open_socket(target: aiohttp.AddrInfoType) -> socket:
    return _pinned.get().open_socket(target)


def _kept(connection: Connection) -> _KeptConnection:
    return cast("_KeptConnection", connection.protocol)
