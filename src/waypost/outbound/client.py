"""The HTTP client. It connects to checked addresses only, and no answer can cost more than it was given.

Follows no redirects, keeps no cookies, takes no proxy from the environment, always verifies TLS. Connections are kept
by `poster` alone.
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
from waypost.kit.urls import Url
from waypost.outbound.addresses import Address, Network, Reachable
from waypost.outbound.bodies import read_body
from waypost.outbound.connection import BoundedConnection
from waypost.outbound.errors import Unreachable
from waypost.outbound.failures import reason_of
from waypost.outbound.names import Names
from waypost.outbound.route import Route

HEADERS = {"User-Agent": "Waypost", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
MAX_HEADERS = 128
MAX_HEADER = 16_384  # bytes of one line; content security policies grow long

_Request = AbstractAsyncContextManager[aiohttp.ClientResponse]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    status: int
    headers: Mapping[str, str]
    """Found under any case of the name."""
    body: bytes
    """Of `Outbound.request`: decompressed, and cut off at the limit asked for."""
    url: Url

    def json(self) -> Any:
        """Raises ValueError for a body that is no JSON, or is nested too deeply."""
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
        self._reachable = Reachable(tuple(allow))
        self._names = Names(self._reachable, dns_servers)

        self.tls = trusting(ca_file)
        self.tls.set_alpn_protocols(["http/1.1"])

    async def resolve(self, url: Url) -> list[Address]:
        """The addresses a request would go to. Raises NotPublic, Unreachable."""
        return await self._names.resolve(url)

    async def route(self, url: Url) -> Route:
        """The way for one new connection. Raises NotPublic, Unreachable."""
        return Route(self._reachable, await self._names.resolve(url))

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
        """One request and its answer within `deadline` seconds in all; `connect_timeout` is for TCP and TLS.

        With `body_types` (`text/html`), the body of an answer of any other type is not read.
        Raises NotPublic, Unreachable.
        """
        try:
            async with asyncio.timeout(deadline):
                route = await self.route(url)
                async with self._session(route, connect_timeout, max_body) as session:
                    request = session.request(
                        method, target(url), headers={**HEADERS, **(headers or {})}, data=body, allow_redirects=False
                    )
                    return await _answer(request, route, url, max_body, body_types)
        except TimeoutError:
            raise Unreachable("timed out") from None

    def _session(self, route: Route, connect_timeout: float | None, max_body: int) -> aiohttp.ClientSession:
        """A session of one request: nothing that was checked for another one can be reused."""
        connector = _Connector(
            max_body,
            resolver=route,
            socket_factory=route.open_socket,
            ssl=self.tls,
            use_dns_cache=False,
            force_close=True,
        )
        peer_check = aiohttp.TraceConfig()
        peer_check.on_connection_create_end.append(route.check_peer)
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
        auto_decompress=False,  # `bodies` does it, within the limit
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
        max_headers=MAX_HEADERS,
    )


class _Connector(aiohttp.TCPConnector):
    def __init__(self, max_body: int, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(BoundedConnection, self._loop, max_body))


class _NoCookies(aiohttp.DummyCookieJar):
    """Does not even parse them."""

    def update_cookies_from_headers(self, headers: Sequence[str], response_url: yarl.URL) -> None:
        pass


async def _answer(
    request: _Request, route: Route, url: Url, max_body: int, body_types: Collection[str]
) -> OutboundResponse:
    try:
        async with request as response:
            wanted = not body_types or _type(response) in body_types
            body = await read_body(response, max_body) if wanted else b""
            return OutboundResponse(response.status, response.headers, body, url)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise route.refused or Unreachable(reason_of(error)) from error


def _type(response: aiohttp.ClientResponse) -> str:
    """Not by the library's parser, whose time grows with the square of a hostile header's length."""
    text = response.headers.get("Content-Type", "text/html")  # as browsers guess
    return text.partition(";")[0].strip().lower()


def target(url: Url) -> yarl.URL:
    """Built from the parts that were checked, so that no third parser has a say about the host."""
    parts = urlsplit(url.text)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return yarl.URL.build(
        scheme=url.scheme, host=host, port=url.port, path=parts.path or "/", query_string=parts.query, encoded=True
    )


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """The system's authorities, and those of the file. Raises SettingsError."""
    context = ssl.create_default_context()
    try:
        if ca_file:
            context.load_verify_locations(ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"WAYPOST_OUTBOUND_CA_FILE: {ca_file} cannot be read as PEM certificates: {error}"
        ) from None
    return context
