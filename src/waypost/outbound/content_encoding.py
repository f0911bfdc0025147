"""Decompresses bodies, each up to a limit.

Encodings that nobody knows (`none`, `UTF-8`) mean none, as in browsers.
"""

import zlib

ACCEPTED = "gzip, deflate"
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_UNREADABLE = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})
_MAX_ENCODINGS = 3
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # detected by the first bytes
_RAW = -zlib.MAX_WBITS


class Decompressor:
    def __init__(self, encoding: str, limit: int) -> None:
        self._left = limit + 1
        self._encoding = encoding
        self._start = b""
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)

    @property
    def is_full(self) -> bool:
        """Whether the data exceeds the limit. Then nothing more can be decompressed."""
        return self._left == 0

    def decompress(self, data: bytes) -> bytes:
        """Return nothing for what follows the end. Raises zlib.error."""
        if self._stream.eof:
            return b""
        if len(self._start) < 2:
            data = self._start = self._start + data
            if len(data) < 2:
                return b""
            if self._encoding == "deflate" and not _has_header(data):  # some servers leave it out
                self._stream = zlib.decompressobj(_RAW)
        decompressed = self._stream.decompress(data, self._left)
        self._left -= len(decompressed)
        return decompressed


def decompressors(content_encoding: str, limit: int) -> list[Decompressor] | None:
    """Return what decompresses a body, in this order. None: nothing can."""
    encodings = [name.strip().lower() for name in content_encoding.split(",")]
    known = [name for name in reversed(encodings) if name in _ZLIB]
    if not _UNREADABLE.isdisjoint(encodings) or len(known) > _MAX_ENCODINGS:
        return None
    return [Decompressor(name, limit) for name in known]


def _has_header(data: bytes) -> bool:
    """Return whether it begins as gzip or zlib does."""
    is_zlib = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
    return is_zlib or data.startswith(b"\x1f\x8b")
