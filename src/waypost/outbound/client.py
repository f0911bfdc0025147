"""Outbound requests: where they may go, and what they cost.

They ignore the environment's proxies and always verify TLS.
"""

import asyncio
import ssl
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from waypost.kit.errors import SettingsError
from waypost.kit.outbound_proxy import ProxyServer
from waypost.kit.proxies import IpAddress, Network
from waypost.kit.urls import NO_NAME, PrivateNames, Url, canonical
from waypost.outbound.addresses import ANY_ADDRESS, AllowedAddresses, HostResolver, UnresolvedHosts
from waypost.outbound.connection import HttpConnection, IdleConnections, connect
from waypost.outbound.errors import Unreachable
from waypost.outbound.http_client import read_body, read_decompressed, send
from waypost.outbound.limit import Limit, Pace
from waypost.outbound.proxy import Proxy
from waypost.outbound.response import OutboundResponse

MAX_IDLE = 4.0  # seconds; many servers close after five, and a POST that races with the close is lost


class Outbound:
    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        names: PrivateNames = NO_NAME,
        dns_servers: Sequence[str] = (),
        ca_file: Path | None = None,
        proxy: ProxyServer | None = None,
    ) -> None:
        """`allow`, `names`: private networks and hosts. Raises SettingsError for what cannot be used."""
        self.names = names
        self._route_through(AllowedAddresses(tuple(allow), names=names), dns_servers, proxy)
        self._tls = _tls_for_http(ca_file) if ca_file else None

    def _route_through(self, allowed: AllowedAddresses, dns_servers: Sequence[str], proxy: ProxyServer | None) -> None:
        new_resolver = UnresolvedHosts if proxy and proxy.resolves_names else HostResolver
        self._resolver = new_resolver(allowed, dns_servers)
        self._pin = Proxy(proxy, self._resolver, dns_servers).pin if proxy else self._resolver.pin

    def canonical(self, text: str, *, schemes: Collection[str] = ("http", "https")) -> Url:
        """Parse a URL of a user. Raise BadUrl, also for a private name that the settings do not allow."""
        return canonical(text, schemes=schemes, private=self.names)

    async def resolve(self, url: Url) -> list[IpAddress]:
        """Return the addresses that a request would go to. Raises NotPublic, Unreachable."""
        return await self._resolver.resolve(url)

    async def connect(self, url: Url, limit: Limit, *, within: float | None = None) -> HttpConnection:
        """Open a connection. `within`: seconds of TCP and TLS, without DNS. Raises NotPublic, Unreachable."""
        tls = await self._tls_context() if url.scheme == "https" else None
        pinned = await self._pin(url)
        try:
            async with asyncio.timeout(within):
                return await connect(url, pinned, tls, limit)
        except TimeoutError:
            raise Unreachable(limit.when_late) from None

    async def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:  # the system's authorities take a while to read
            self._tls = await asyncio.to_thread(_tls_for_http, None)
        return self._tls

    async def request(
        self,
        method: str,
        url: Url,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        deadline: float,
        connect_timeout: float | None = None,
        max_body: int,
        body_types: Collection[str] = (),
        pace: Pace | None = None,
    ) -> OutboundResponse:
        """Send one request, within `deadline` seconds in total; `connect_timeout` covers TCP and TLS.

        With `body_types` (`text/html`), a body of any other type is not read, nor that of an error or a redirect. Each
        request has a connection of its own: none that was checked for another one is used. Raises NotPublic,
        Unreachable.
        """
        async with Limit(deadline, pace).running() as limit:
            connection = await self.connect(url, limit, within=connect_timeout)
            try:
                reader = await send(connection, method, url, headers or {}, body)
                content = await read_decompressed(reader, max_body=max_body, types=body_types, limit=limit)
            finally:
                connection.abort()
        return OutboundResponse(reader.status, reader.headers, content, url, reader.is_complete)


class OperatorOutbound(Outbound):
    """Reaches private addresses, too: for servers that the operator's settings name, never for URLs of users."""

    def __init__(
        self, *, dns_servers: Sequence[str] = (), ca_file: Path | None = None, proxy: ProxyServer | None = None
    ) -> None:
        super().__init__(ca_file=ca_file)
        self._route_through(ANY_ADDRESS, dns_servers, proxy)


class Post(Protocol):
    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """See `Poster.post`."""


class Poster:
    """POST requests over keep-alive connections, since opening a connection costs more than everything else.

    A new connection goes only where `Outbound.request` may go. A kept one is reused for the same scheme, host and port,
    for a short time, and only after a response without any fault.
    """

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._idle = IdleConnections()

    async def post(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """Send one POST and read its response within `deadline` seconds. Raises NotPublic, Unreachable.

        Bodies are never decompressed.
        """
        origin = url.scheme, url.host, url.port
        async with Limit(deadline).running() as limit:
            connection = self._idle.take(origin) or await self._outbound.connect(url, limit)
            try:
                reader = await send(connection, "POST", url, {"Accept-Encoding": "identity", **headers}, body)
                content = await read_body(reader, max_body=max_body)
            except BaseException:
                connection.abort()
                raise
            if reader.allows_another:
                self._idle.put(origin, connection, seconds=MAX_IDLE)
            else:
                connection.abort()
        return OutboundResponse(reader.status, reader.headers, content, url, reader.is_complete)

    async def close(self) -> None:
        """Close the idle connections."""
        self._idle.close()


def _tls_for_http(ca_file: Path | None) -> ssl.SSLContext:
    context = tls_context(ca_file)
    context.set_alpn_protocols(["http/1.1"])
    return context


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Trusts the system's certificate authorities and those of the file. Raises SettingsError."""
    context = ssl.create_default_context()
    try:
        if ca_file:
            context.load_verify_locations(ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"WAYPOST_OUTBOUND_CA_FILE: {ca_file} cannot be read as PEM certificates: {error}"
        ) from None
    return context
