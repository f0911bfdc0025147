"""Reads the head of an ordinary GET. For anything unusual the result is None, and the bytes go to uvicorn's parser.

llhttp checks every byte, and calls back for each header. This takes most of the time of a redirect, so a callback does
one look-up and stores at most one value.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Final, NewType

import httptools

_HOST: Final = 1
_USER_AGENT: Final = 2
_REFERRER: Final = 3
_LANGUAGE: Final = 4
_CONNECTION: Final = 5
_UNUSUAL: Final = 6
_RARE: Final = 7
_IGNORED: Final = 8
_UNKNOWN: Final = 9
"""Kinds of headers."""
_RARE_HEADERS: Final = (b"x-forwarded-for", b"forwarded", b"sec-purpose", b"purpose", b"x-moz", b"sec-gpc", b"dnt")
_KINDS: Final[dict[bytes, int]] = {
    b"host": _HOST,
    b"user-agent": _USER_AGENT,
    b"referer": _REFERRER,
    b"accept-language": _LANGUAGE,
    b"connection": _CONNECTION,
    **dict.fromkeys((b"content-length", b"transfer-encoding", b"expect", b"upgrade"), _UNUSUAL),
    **dict.fromkeys(_RARE_HEADERS, _RARE),
}
_MAX_HEADERS: Final = 100  # uvicorn's parser refuses heads with 129
_MAX_NAMES = 1_000  # known spellings
_MAX_NAME: Final = 40  # bytes of one
_TAB: Final = 9

VisitHeaders = NewType("VisitHeaders", tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes])
"""(host, forwarded for, forwarded, user agent, referrer, language, purpose, privacy): raw, b"" if not sent.

All but the first are fields of `spool.Visit`. A plain tuple: a named tuple takes many times as long to create. A type
of its own, because mypyc copies the elements of other tuples wherever they are passed.
"""
HOST: Final = 0
FORWARDED_FOR: Final = 1
FORWARDED: Final = 2
USER_AGENT: Final = 3
REFERRER: Final = 4
LANGUAGE: Final = 5
PURPOSE: Final = 6
PRIVACY: Final = 7
"""Positions in VisitHeaders."""

_PREFETCH_PURPOSES = (b"prefetch", b"prerender", b"preview")


def is_prefetch(purpose: bytes) -> bool:
    """Return whether the browser only prepares for a visit, which is no click."""
    return bool(purpose) and any(word in purpose.lower() for word in _PREFETCH_PURPOSES)


class HeaderReader:
    """Reads heads for all connections. Between two heads it keeps only how names of headers are spelled."""

    def __init__(self) -> None:
        self.url = b""
        """Path and query of the head that `read` returned last."""
        self._host = self._user_agent = self._referrer = self._language = self._connection = b""
        self._rare: dict[bytes, bytes] = {}
        self._is_unusual = False
        self._count = 0
        self._kinds: dict[bytes, int] = {}
        self._parser = self._new_parser()

    def read(self, data: bytes) -> VisitHeaders | None:
        """Return the headers of one complete head. None if anything is unusual. `data` ends with an empty line."""
        self.url = self._host = self._user_agent = self._referrer = self._language = self._connection = b""
        if self._rare:
            self._rare = {}
        self._is_unusual = False
        self._count = 0
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._parser = self._new_parser()
            return None
        end = 4 + len(self.url)
        if (
            self._is_unusual
            or self._count > _MAX_HEADERS
            or data[end : end + 11] != b" HTTP/1.1\r\n"
            or _TAB in data  # it separates the fields of the spool
            or (self._connection != b"keep-alive" and self._connection.lower() not in {b"", b"keep-alive"})
        ):
            self._parser = self._new_parser()  # it may be waiting for a body
            return None
        rare = self._rare
        return VisitHeaders(
            (
                self._host,
                rare.get(b"x-forwarded-for", b"") if rare else b"",
                rare.get(b"forwarded", b"") if rare else b"",
                self._user_agent,
                self._referrer,
                self._language,
                _purpose(rare) if rare else b"",
                _privacy(rare) if rare else b"",
            )
        )

    def _keep_url(self, url: bytes) -> None:
        if self.url:
            self._is_unusual = True  # the data has another request
        self.url = url

    def _keep_header(self, name: bytes, value: bytes) -> None:
        """A repeated header is unusual. So is an empty one: the next one of this name would not be noticed."""
        self._count += 1
        kind = self._kinds.get(name, _UNKNOWN)
        if kind == _UNKNOWN:
            kind = self._kind_of(name)
        if kind == _IGNORED:
            return
        if kind == _HOST:
            is_repeated = bool(self._host)
            self._host = value
        elif kind == _USER_AGENT:
            is_repeated = bool(self._user_agent)
            self._user_agent = value
        elif kind == _REFERRER:
            is_repeated = bool(self._referrer)
            self._referrer = value
        elif kind == _LANGUAGE:
            is_repeated = bool(self._language)
            self._language = value
        elif kind == _CONNECTION:
            is_repeated = bool(self._connection)
            self._connection = value
        elif kind == _RARE:
            name = name.lower()
            is_repeated = name in self._rare
            self._rare[name] = value
        else:
            is_repeated = True
        if is_repeated or not value:
            self._is_unusual = True

    def _kind_of(self, name: bytes) -> int:
        kind = _KINDS.get(name.lower(), _IGNORED)
        if len(name) <= _MAX_NAME:
            if len(self._kinds) >= _MAX_NAMES:
                self._kinds.clear()
            self._kinds[name] = kind
        return kind

    def _new_parser(self) -> httptools.HttpRequestParser:
        return httptools.HttpRequestParser(SimpleNamespace(on_url=self._keep_url, on_header=self._keep_header))


def read_visit_headers(headers: Mapping[bytes, bytes]) -> VisitHeaders:
    """Return the visit headers of ASGI headers, whose names are in lower case."""
    return VisitHeaders(
        (
            headers.get(b"host", b""),
            headers.get(b"x-forwarded-for", b""),
            headers.get(b"forwarded", b""),
            headers.get(b"user-agent", b""),
            headers.get(b"referer", b""),
            headers.get(b"accept-language", b""),
            _purpose(headers),
            _privacy(headers),
        )
    )


def _purpose(headers: Mapping[bytes, bytes]) -> bytes:
    return headers.get(b"sec-purpose") or headers.get(b"purpose") or headers.get(b"x-moz", b"")


def _privacy(headers: Mapping[bytes, bytes]) -> bytes:
    return b"1" if headers.get(b"sec-gpc") == b"1" or headers.get(b"dnt") == b"1" else b""
