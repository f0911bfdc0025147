"""Requests of HTTP/1.1, and the bodies of their responses. They follow no redirects and keep no cookies."""

import re
import zlib
from collections.abc import Collection, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from waypost.kit.urls import DEFAULT_PORTS, Url
from waypost.outbound.connection import HttpConnection
from waypost.outbound.content_encoding import ACCEPTED, decompressors
from waypost.outbound.errors import Unreachable
from waypost.outbound.limit import Limit
from waypost.outbound.response_reader import ResponseReader

_HEADERS = {"User-Agent": "Waypost", "Accept": "*/*", "Accept-Encoding": ACCEPTED}
_SENDABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # what cannot end a line


async def send(
    connection: HttpConnection, method: str, url: Url, headers: Mapping[str, str], body: bytes | None
) -> ResponseReader:
    """Send a request and read the head of its response. Raises OSError, Unreachable."""
    if body is None and method == "POST":
        body = b""
    fields = {**_HEADERS, **headers}
    if not all(map(_SENDABLE.fullmatch, fields.values())):
        raise Unreachable("a header of the request has characters that cannot be sent")
    target, host = _target(url)
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in fields.items())]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    connection.send("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
    reader = ResponseReader(connection.receive)
    await reader.read_head(method)
    return reader


@lru_cache(1_024)
def _target(url: Url) -> tuple[str, str]:
    """Return the request's target, and its Host."""
    parts = urlsplit(url.text)
    query = f"?{parts.query}" if parts.query else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = "" if url.port == DEFAULT_PORTS[url.scheme] else f":{url.port}"
    return f"{parts.path or '/'}{query}", f"{host}{port}"


async def read_body(reader: ResponseReader, *, max_body: int) -> bytes:
    """Read a body up to `max_body`, without decompressing it."""
    body = bytearray()
    while len(body) <= max_body and (part := await reader.read()):
        body += part
    return bytes(body[:max_body])


async def read_decompressed(reader: ResponseReader, *, max_body: int, types: Collection[str], limit: Limit) -> bytes:
    """Read and decompress a body up to `max_body`: nothing beyond it is read or decompressed.

    Empty for another type, and an encoding that is not readable; corrupt data ends where it breaks.
    """
    stages = decompressors(reader.headers.get("Content-Encoding", ""), max_body)
    if stages is None or not max_body or (types and not _is_expected(reader, types)):
        return b""
    body, size = bytearray(), 0
    while len(body) <= max_body and size <= max_body and (part := await reader.read()):
        size += len(part)
        limit.received(len(part))
        try:
            for stage in stages:
                part = stage.decompress(part)
        except zlib.error:
            break
        body += part
        if any(stage.is_full for stage in stages):
            break
    return bytes(body[:max_body])


def _is_expected(reader: ResponseReader, types: Collection[str]) -> bool:
    """Return whether it is no error and no redirect, and of one of the types."""
    content_type = reader.headers.get("Content-Type", "text/html")  # as browsers assume
    return 200 <= reader.status < 300 and content_type.partition(";")[0].strip().lower() in types
