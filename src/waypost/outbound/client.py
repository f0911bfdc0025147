"""Outbound requests: what may be sent, and when the HTTP library is loaded.

The library is loaded by the first request, in a thread: an idle process does without its 15 MB, and redirects do not
wait for it.
"""

import asyncio
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from waypost.kit.errors import SettingsError
from waypost.kit.outbound_proxy import ProxyServer
from waypost.kit.proxies import IpAddress, Network
from waypost.kit.urls import NO_NAME, PrivateNames, Url, canonical
from waypost.outbound.addresses import ANY_ADDRESS, AllowedAddresses, HostResolver, UnresolvedHosts
from waypost.outbound.proxy import Proxy
from waypost.outbound.response import OutboundResponse, Pace

if TYPE_CHECKING:
    from aiohttp import ClientSession

    OpenSession = Callable[[float | None], ClientSession]
    """Gets the seconds that idle connections are kept. None: each is closed after one request."""


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
        self._tls = tls_context(ca_file) if ca_file else None
        self._open_session: OpenSession | None = None

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

        With `body_types` (`text/html`), a body of any other type is not read. Raises NotPublic, Unreachable.
        """
        open_session = await self.load()
        from waypost.outbound.connection import SentRequest  # noqa: PLC0415  # see above
        from waypost.outbound.http_client import Limit, read_decompressed, send  # noqa: PLC0415

        limit, sent = Limit(deadline, pace), SentRequest(url, max_body, connect_timeout)
        read = partial(read_decompressed, max_body=max_body, types=body_types, limit=limit)
        # a session for one request: no connection checked for another one is reused
        async with open_session(None) as session:
            return await send(session, method, sent, headers or {}, body, limit, read)

    async def load(self) -> "OpenSession":
        """Return what opens a session, which connects only where requests may go. The first call loads the library."""
        if self._open_session is None:
            self._open_session = await asyncio.to_thread(self._load)
        return self._open_session

    def _load(self) -> "OpenSession":
        from waypost.outbound.http_client import open_session  # noqa: PLC0415  # see above

        tls = self._tls or tls_context(None)
        tls.set_alpn_protocols(["http/1.1"])
        return partial(open_session, self._pin, tls)


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
    for a short time, and only if nothing arrived after its last response.
    """

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._session: ClientSession | None = None

    async def post(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """Send one POST and read the complete response within `deadline` seconds. Raises NotPublic, Unreachable.

        A body whose Content-Length exceeds `max_body` bytes is not read; one without a length that exceeds them is
        Unreachable. Bodies are never decompressed.
        """
        open_session = await self._outbound.load()
        from waypost.outbound.connection import SentRequest  # noqa: PLC0415  # see above
        from waypost.outbound.http_client import Limit, read_complete, send  # noqa: PLC0415

        if self._session is None:
            self._session = open_session(MAX_IDLE)
        headers = {"Accept-Encoding": "identity", **headers}
        read = partial(read_complete, max_body=max_body)
        return await send(self._session, "POST", SentRequest(url, max_body), headers, body, Limit(deadline), read)

    async def close(self) -> None:
        """Close the idle connections."""
        if self._session is not None:
            await self._session.close()


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
