"""The HTTP clients. They connect to checked addresses only, and every response is limited in size and time.

They follow no redirects, keep no cookies, ignore the environment's proxies and always verify TLS. Only
`KeepAliveClient` keeps connections open.
"""

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from urllib.parse import urlsplit

import aiohttp
import yarl

from waypost.kit.urls import Url
from waypost.outbound.connection import Connector, Pin, SentRequest, sent_request, too_long
from waypost.outbound.errors import Unreachable, reason_of
from waypost.outbound.response import OutboundResponse, Pace

HEADERS = {"User-Agent": "Waypost", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
MAX_HEADERS = 128
MAX_HEADER = 16_384  # bytes of one line; content security policies are long
MAX_IDLE = 4.0  # seconds; many servers close after five, and a POST that races with the close is lost
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # detected by the first bytes

_ReadBody = Callable[[aiohttp.ClientResponse], Awaitable[bytes]]


class Limit:
    """The time of one request. With a pace, each byte that arrives extends it, up to the deadline."""

    def __init__(self, deadline: float, pace: Pace | None = None) -> None:
        self._deadline = deadline
        self._pace = pace
        self._timeout = asyncio.timeout(None)
        self._began = 0.0
        self._received = 0

    def running(self) -> asyncio.Timeout:
        """Return the context in which the request is sent and its response read."""
        self._began = asyncio.get_running_loop().time()
        seconds = min(self._deadline, self._pace.first_byte) if self._pace else self._deadline
        self._timeout = asyncio.timeout_at(self._began + seconds)
        return self._timeout

    def received(self, size: int) -> None:
        if self._pace:
            self._received += size
            seconds = self._pace.first_byte + self._received / self._pace.rate
            self._timeout.reschedule(self._began + min(self._deadline, seconds))


class HttpClient:
    def __init__(self, pin: Pin, tls: ssl.SSLContext) -> None:
        self._pin = pin
        self._tls = tls
        self._tls.set_alpn_protocols(["http/1.1"])

    async def request(
        self,
        method: str,
        url: Url,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        deadline: float,
        connect_timeout: float | None,
        max_body: int,
        body_types: Collection[str],
        pace: Pace | None,
    ) -> OutboundResponse:
        """See `Outbound.request`."""

        async def read(response: aiohttp.ClientResponse) -> bytes:
            return (
                await _read_decompressed(response, max_body, limit)
                if not body_types or _type(response) in body_types
                else b""
            )

        limit = Limit(deadline, pace)
        # a session for one request: no connection checked for another one is reused
        async with self._open_session(keepalive=None) as session:
            sent = SentRequest(url, max_body, connect_timeout)
            return await _send(session, method, sent, {**HEADERS, **headers}, body, limit, read)

    def keep_alive(self) -> "KeepAliveClient":
        """Open it inside a running event loop."""
        return KeepAliveClient(self._open_session(keepalive=MAX_IDLE))

    def _open_session(self, *, keepalive: float | None) -> aiohttp.ClientSession:
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


class KeepAliveClient:
    """Sends the requests of a `Poster`."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(
        self, url: Url, *, headers: Mapping[str, str], body: bytes, deadline: float, max_body: int
    ) -> OutboundResponse:
        """See `Poster.post`."""
        headers = {**HEADERS, "Accept-Encoding": "identity", **headers}
        read = partial(_read_complete, limit=max_body)
        return await _send(self._session, "POST", SentRequest(url, max_body), headers, body, Limit(deadline), read)

    async def close(self) -> None:
        await self._session.close()


async def _send(
    session: aiohttp.ClientSession,
    method: str,
    sent: SentRequest,
    headers: Mapping[str, str],
    body: bytes | None,
    limit: Limit,
    read: _ReadBody,
) -> OutboundResponse:
    sent_request.set(sent)
    try:
        async with limit.running():
            response = await session.request(
                method, _target(sent.url), headers=headers, data=body, allow_redirects=False
            )
            try:
                return OutboundResponse(response.status, response.headers, await read(response), sent.url)
            finally:
                if not response.closed:
                    response.close()
    except TimeoutError:
        raise Unreachable(sent.when_late) from None
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


async def _read_decompressed(response: aiohttp.ClientResponse, limit: int, time_limit: Limit) -> bytes:
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
            time_limit.received(len(chunk))
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
