"""An answer's body, up to a limit: nothing beyond it is read or unpacked."""

import zlib

import aiohttp

from waypost.outbound.connection import too_long
from waypost.outbound.errors import Unreachable

_PLAIN = frozenset({"", "identity"})
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # told apart by their first bytes


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Empty when packed in a way nobody asked for; what is packed badly ends where it breaks."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in _PLAIN:
        return await _read_plain(response.content, limit)
    return await _read_packed(response.content, limit) if encoding in _ZLIB else b""


async def read_to_end(content: aiohttp.StreamReader, limit: int) -> bytes:
    """As it came, still packed. Raises Unreachable when it goes on beyond the limit."""
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


async def _read_packed(content: aiohttp.StreamReader, limit: int) -> bytes:
    body, unpacker = bytearray(), zlib.decompressobj(_GZIP_OR_ZLIB)
    while len(body) < limit and not unpacker.eof and (chunk := await _next_chunk(content)):
        try:
            body += unpacker.decompress(chunk, limit - len(body))
        except zlib.error:
            break
    return bytes(body)


async def _next_chunk(content: aiohttp.StreamReader) -> bytes:
    """Empty also where the connection's own bound ends the body: what came before it still counts."""
    try:
        return await content.readany()
    except Unreachable:
        return b""
