"""Read response bodies up to a limit: nothing beyond it is read or decompressed."""

import zlib

import aiohttp

from waypost.outbound.connection import too_long
from waypost.outbound.errors import Unreachable

_PLAIN = frozenset({"", "identity"})
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # detected by the first bytes


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Decompressed. Empty for an encoding we did not ask for; corrupt data ends where it breaks."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in _PLAIN:
        return await _read_plain(response.content, limit)
    return await _read_compressed(response.content, limit) if encoding in _ZLIB else b""


async def read_raw_body(content: aiohttp.StreamReader, limit: int) -> bytes:
    """As received, not decompressed. Raises Unreachable when the body exceeds the limit."""
    body = bytearray()
    while chunk := await content.readany():
        body += chunk
        if len(body) > limit:
            raise too_long(limit)
    return bytes(body)


async def _read_plain(content: aiohttp.StreamReader, limit: int) -> bytes:
    body = bytearray()
    while len(body) < limit and (chunk := await _next_chunk(content)):
        body += chunk
    return bytes(body[:limit])


async def _read_compressed(content: aiohttp.StreamReader, limit: int) -> bytes:
    body, decompressor = bytearray(), zlib.decompressobj(_GZIP_OR_ZLIB)
    while len(body) < limit and not decompressor.eof and (chunk := await _next_chunk(content)):
        try:
            body += decompressor.decompress(chunk, limit - len(body))
        except zlib.error:
            break
    return bytes(body)


async def _next_chunk(content: aiohttp.StreamReader) -> bytes:
    """Empty also when the connection's limit ends the body: the part before it still counts."""
    try:
        return await content.readany()
    except Unreachable:
        return b""
