"""Requests of the HTTP library. They connect to checked addresses only, and every response is limited in size and time.

They follow no redirects, keep no cookies, ignore the environment's proxies and always verify TLS.
"""

import asyncio
import ssl
import zlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import lru_cache
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


def open_session(pin: Pin, tls: ssl.SSLContext, keepalive: float | None) -> aiohttp.ClientSession:
    """`keepalive`: seconds that idle connections are kept. None: each is closed after one request."""
    return aiohttp.ClientSession(
        connector=Connector(pin, tls, keepalive=keepalive),
        cookie_jar=_NoCookies(),
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
        auto_decompress=False,  # `read_decompressed` does it, within the limit
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
        max_headers=MAX_HEADERS,
    )


async def send(
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
                method, _target(sent.url), headers={**HEADERS, **headers}, data=body, allow_redirects=False
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


async def read_complete(response: aiohttp.ClientResponse, *, max_body: int) -> bytes:
    """Read a body without decompressing it. Raises Unreachable if it exceeds `max_body`."""
    if (response.content_length or 0) > max_body:
        return b""
    body = bytearray()
    while chunk := await response.content.readany():
        body += chunk
        if len(body) > max_body:
            raise too_long(max_body)
    return bytes(body)


async def read_decompressed(
    response: aiohttp.ClientResponse, *, max_body: int, types: Collection[str], limit: Limit
) -> bytes:
    """Read and decompress a body up to `max_body`: nothing beyond it is read or decompressed.

    Empty for another type, and an encoding we did not ask for; corrupt data ends where it breaks.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ZLIB | {"", "identity"} or (types and _type(response) not in types):
        return b""
    decompressor = zlib.decompressobj(_GZIP_OR_ZLIB) if encoding in _ZLIB else None
    body = bytearray()
    while len(body) < max_body and not (decompressor and decompressor.eof):
        try:
            chunk = await response.content.readany()
            limit.received(len(chunk))
            body += decompressor.decompress(chunk, max_body - len(body)) if decompressor else chunk
        except (Unreachable, zlib.error):  # the connection's limit ends the body: the part before it still counts
            break
        if not chunk:
            break
    return bytes(body[:max_body])


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
