"""The HTTP clients. They connect to checked addresses only, and every response is limited in size and time.

They follow no redirects, keep no cookies, ignore the environment's proxies and always verify TLS. Only `Poster` keeps
connections open.
"""

import asyncio
import json
import ssl
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp
import structlog
import yarl

from waypost.kit.errors import SettingsError
from waypost.kit.proxies import Address, Network
from waypost.kit.urls import Url
from waypost.outbound.addresses import AllowedAddresses, HostResolver, PinnedAddresses
from waypost.outbound.connection import Connector, SentRequest, sent_request, too_long
from waypost.outbound.errors import Unreachable, reason_of

HEADERS = {"User-Agent": "Waypost", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
MAX_HEADERS = 128
MAX_HEADER = 16_384  # bytes of one line; content security policies are long
MAX_IDLE = 4.0  # seconds; many servers close after five, and a POST that races with the close is lost
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # detected by the first bytes

_ReadBody = Callable[[aiohttp.ClientResponse], Awaitable[bytes]]

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
        self._tls = tls_context(ca_file)
        self._tls.set_alpn_protocols(["http/1.1"])

    async def resolve(self, url: Url) -> list[Address]:
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
    ) -> OutboundResponse:
        """Send one request, within `deadline` seconds in total; `connect_timeout` covers TCP and TLS.

        With `body_types` (`text/html`), a body of any other type is not read. Raises NotPublic, Unreachable.
        """

        async def read(response: aiohttp.ClientResponse) -> bytes:
            return (
                await _read_decompressed(response, max_body) if not body_types or _type(response) in body_types else b""
            )

        # a session for one request: no connection checked for another one is reused
        async with self.open_session(keepalive=None) as session:
            sent = SentRequest(url, max_body, connect_timeout)
            return await _send(session, method, sent, {**HEADERS, **(headers or {})}, body, deadline, read)

    def open_session(self, *, keepalive: float | None) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=Connector(self._pin, self._tls, keepalive=keepalive),
            cookie_jar=_NoCookies(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
            auto_decompress=False,  # `_read_decompressed` does it, within the limit
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            max_headers=MAX_HEADERS,
        )

    async def _pin(self, url: Url) -> PinnedAddresses:
        return PinnedAddresses(self._allowed, await self._resolver.resolve(url))


class Post(Protocol):
    async def __call__(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """See `Poster.post`."""


class Poster:
    """POST requests over keep-alive connections, since opening a connection costs more than everything else.

    A new connection goes only where `Outbound.request` may go. A kept one is reused for the same scheme, host and port,
    for a short time, and only if nothing arrived after its last response. Create it inside a running event loop.
    """

    def __init__(self, outbound: Outbound) -> None:
        self._session = outbound.open_session(keepalive=MAX_IDLE)

    async def post(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """Send one POST and read the complete response within `deadline` seconds. Raises NotPublic, Unreachable.

        A body whose Content-Length exceeds `max_body` bytes is not read; one without a length that exceeds them is
        Unreachable. Bodies are never decompressed.
        """
        headers = {**HEADERS, "Accept-Encoding": "identity", **headers}
        read = partial(_read_complete, limit=max_body)
        return await _send(self._session, "POST", SentRequest(url, max_body), headers, body, deadline, read)

    async def close(self) -> None:
        """Close the idle connections."""
        await self._session.close()


async def _send(
    session: aiohttp.ClientSession,
    method: str,
    sent: SentRequest,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: float,
    read: _ReadBody,
) -> OutboundResponse:
    sent_request.set(sent)
    try:
        async with asyncio.timeout(deadline):
            response = await session.request(
                method, _target(sent.url), headers=headers, data=body, allow_redirects=False
            )
            try:
                return OutboundResponse(response.status, response.headers, await read(response), sent.url)
            finally:
                if not response.closed:
                    response.close()
    except TimeoutError:
        raise Unreachable("timed out") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise Unreachable(reason_of(error)) from error


class _NoCookies(aiohttp.DummyCookieJar):
    """Does not parse cookies at all."""

    def update_cookies_from_headers(self, headers: Sequence[str], response_url: yarl.URL) -> None:
        pass


async def _read_complete(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read a body without decompressing it. Raises Unreachable if it exceeds the limit."""
    if (response.content_length or 0) > limit:
        return b""
    body = bytearray()
    while chunk := await response.content.readany():
        body += chunk
        if len(body) > limit:
            raise too_long(limit)
    return bytes(body)


async def _read_decompressed(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read and decompress a body up to the limit: nothing beyond it is read or decompressed.

    Empty for an encoding we did not ask for; corrupt data ends where it breaks.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ZLIB | {"", "identity"}:
        return b""
    decompressor = zlib.decompressobj(_GZIP_OR_ZLIB) if encoding in _ZLIB else None
    body = bytearray()
    while len(body) < limit and not (decompressor and decompressor.eof):
        try:
            chunk = await response.content.readany()
            body += decompressor.decompress(chunk, limit - len(body)) if decompressor else chunk
        except (Unreachable, zlib.error):  # the connection's limit ends the body: the part before it still counts
            break
        if not chunk:
            break
    return bytes(body[:limit])


def _type(response: aiohttp.ClientResponse) -> str:
    """Avoids aiohttp's parser, whose time grows with the square of a hostile header's length."""
    text = response.headers.get("Content-Type", "text/html")  # as browsers assume
    return text.partition(";")[0].strip().lower()


@lru_cache(1_024)
def _target(url: Url) -> yarl.URL:
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
