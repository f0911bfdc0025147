"""The HTTP client. It connects to checked addresses only, and every response is limited in size and time.

Follows no redirects, keeps no cookies, ignores proxies of the environment, always verifies TLS. Only `poster` keeps
connections open.
"""

import asyncio
import json
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import structlog
import yarl
from aiohttp.client_proto import ResponseHandler

from waypost.kit.errors import SettingsError
from waypost.kit.proxies import Address, Network
from waypost.kit.urls import Url
from waypost.outbound.addresses import AllowedAddresses
from waypost.outbound.bodies import read_body
from waypost.outbound.connection import BoundedConnection
from waypost.outbound.errors import Unreachable, reason_of
from waypost.outbound.pinned_addresses import PinnedAddresses
from waypost.outbound.resolver import HostResolver

HEADERS = {"User-Agent": "Waypost", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
MAX_HEADERS = 128
MAX_HEADER = 16_384  # bytes of one line; content security policies are long

_Request = AbstractAsyncContextManager[aiohttp.ClientResponse]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    status: int
    headers: Mapping[str, str]
    """Names are case-insensitive."""
    body: bytes
    """From `Outbound.request`: decompressed, and cut off at `max_body`."""
    url: Url

    def json(self) -> Any:
        """Raises ValueError for a body that is not JSON or is nested too deeply."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


class Outbound:
    def __init__(
        self, *, allow: Sequence[Network] = (), dns_servers: Sequence[str] = (), ca_file: Path | None = None
    ) -> None:
        for network in allow:
            log.warning("outbound requests may reach a network that is not public", network=str(network))
        self._allowed = AllowedAddresses(tuple(allow))
        self._resolver = HostResolver(self._allowed, dns_servers)

        self.tls = tls_context(ca_file)
        self.tls.set_alpn_protocols(["http/1.1"])

    async def resolve(self, url: Url) -> list[Address]:
        """The addresses a request would go to. Raises NotPublic, Unreachable."""
        return await self._resolver.resolve(url)

    async def pin(self, url: Url) -> PinnedAddresses:
        """Resolve and check the addresses for one new connection. Raises NotPublic, Unreachable."""
        return PinnedAddresses(self._allowed, await self._resolver.resolve(url))

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
    ) -> OutboundResponse:
        """Send one request, within `deadline` seconds in total; `connect_timeout` covers TCP and TLS.

        With `body_types` (`text/html`), a body of any other type is not read. Raises NotPublic, Unreachable.
        """
        try:
            async with asyncio.timeout(deadline):
                pinned = await self.pin(url)
                async with self._session(pinned, connect_timeout, max_body) as session:
                    request = session.request(
                        method, target(url), headers={**HEADERS, **(headers or {})}, data=body, allow_redirects=False
                    )
                    return await _read(request, pinned, url, max_body, body_types)
        except TimeoutError:
            raise Unreachable("timed out") from None

    def _session(self, pinned: PinnedAddresses, connect_timeout: float | None, max_body: int) -> aiohttp.ClientSession:
        """A session for one request, so that no connection checked for another one is reused."""
        connector = _BoundedConnector(
            max_body,
            resolver=pinned,
            socket_factory=pinned.open_socket,
            ssl=self.tls,
            use_dns_cache=False,
            force_close=True,
        )
        peer_check = aiohttp.TraceConfig()
        peer_check.on_connection_create_end.append(pinned.check_peer)
        return open_session(connector, peer_check, connect_timeout=connect_timeout)


def open_session(
    connector: aiohttp.BaseConnector, *traces: aiohttp.TraceConfig, connect_timeout: float | None = None
) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        trace_configs=list(traces),
        cookie_jar=_NoCookies(),
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout),
        trust_env=False,
        auto_decompress=False,  # `bodies` decompresses, within the limit
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
        max_headers=MAX_HEADERS,
    )


class _BoundedConnector(aiohttp.TCPConnector):
    def __init__(self, max_body: int, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(BoundedConnection, self._loop, max_body))


class _NoCookies(aiohttp.DummyCookieJar):
    """Does not parse cookies at all."""

    def update_cookies_from_headers(self, headers: Sequence[str], response_url: yarl.URL) -> None:
        pass


async def _read(
    request: _Request, pinned: PinnedAddresses, url: Url, max_body: int, body_types: Collection[str]
) -> OutboundResponse:
    try:
        async with request as response:
            is_read = not body_types or _type(response) in body_types
            body = await read_body(response, max_body) if is_read else b""
            return OutboundResponse(response.status, response.headers, body, url)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise pinned.refused or Unreachable(reason_of(error)) from error


def _type(response: aiohttp.ClientResponse) -> str:
    """Avoids aiohttp's parser, whose time grows with the square of a hostile header's length."""
    text = response.headers.get("Content-Type", "text/html")  # as browsers assume
    return text.partition(";")[0].strip().lower()


def target(url: Url) -> yarl.URL:
    """Built from the checked parts, so that no third parser decides about the host."""
    parts = urlsplit(url.text)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return yarl.URL.build(
        scheme=url.scheme, host=host, port=url.port, path=parts.path or "/", query_string=parts.query, encoded=True
    )


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
