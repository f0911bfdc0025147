"""A request for a short link, and a reader of the head of an ordinary GET. Anything unusual goes to uvicorn's parser.

llhttp checks every byte, and calls back for each header. This takes most of the time of a redirect, so a callback does
one look-up and stores at most one value.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

import httptools

if TYPE_CHECKING:
    from waypost.redirect.routing.requests import VisitorReader

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

_PREFETCH_PURPOSES = (b"prefetch", b"prerender", b"preview")


def is_prefetch(purpose: bytes) -> bool:
    """Return whether the browser only prepares for a visit, which is no click."""
    return bool(purpose) and any(word in purpose.lower() for word in _PREFETCH_PURPOSES)


class VisitRequest:
    """Headers are raw, b"" if not sent."""

    def __init__(self, visitors: "Callable[[], VisitorReader]") -> None:
        self.visitors = visitors
        """Reads what rules ask about the visitor."""
        self.at = 0.0
        """Seconds since 1970."""
        self.is_bot = False
        self.more_path = b""
        """What follows the address of a link that forwards paths, as sent."""
        self.peer = self.query = self.host = self.user_agent = self.referrer = self.language = b""
        self.forwarded_for = self.forwarded = self.purpose = self.privacy = b""

    @property
    def may_fire(self) -> bool:
        """False for visitors who ask for privacy, and for browsers that prefetch."""
        return not (self.privacy or self.purpose)

    @property
    def is_click(self) -> bool:
        return not (self.is_bot or is_prefetch(self.purpose))


class RequestReader(VisitRequest):
    """The request that `read` returned last, of any connection: one object for all, as a new one costs too much."""

    def __init__(self, visitors: "Callable[[], VisitorReader]") -> None:
        super().__init__(visitors)
        self.url = b""
        """Path and query."""
        self._connection = b""
        self._rare: dict[bytes, bytes] = {}
        self._is_unusual = False
        self._count = 0
        self._kinds: dict[bytes, int] = {}
        self._parser = self._new_parser()

    def read(self, data: bytes) -> bool:
        """Read one complete head. Return False if anything is unusual. `data` ends with an empty line."""
        self.url = self.host = self.user_agent = self.referrer = self.language = self._connection = b""
        if self._rare:
            self._rare = {}
            self.forwarded_for = self.forwarded = self.purpose = self.privacy = b""
        self._is_unusual = False
        self._count = 0
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._parser = self._new_parser()
            return False
        end = 4 + len(self.url)
        if (
            self._is_unusual
            or self._count > _MAX_HEADERS
            or data[end : end + 11] != b" HTTP/1.1\r\n"
            or _TAB in data  # it separates the fields of the spool
            or (self._connection != b"keep-alive" and self._connection.lower() not in {b"", b"keep-alive"})
        ):
            self._parser = self._new_parser()  # it may be waiting for a body
            return False
        if self._rare:
            _read_rare(self, self._rare)
        return True

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
            is_repeated = bool(self.host)
            self.host = value
        elif kind == _USER_AGENT:
            is_repeated = bool(self.user_agent)
            self.user_agent = value
        elif kind == _REFERRER:
            is_repeated = bool(self.referrer)
            self.referrer = value
        elif kind == _LANGUAGE:
            is_repeated = bool(self.language)
            self.language = value
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


def read_request(
    headers: Mapping[bytes, bytes], query: bytes, peer: bytes, visitors: "Callable[[], VisitorReader]"
) -> VisitRequest:
    """Return the request of ASGI headers, whose names are in lower case."""
    headers = {name: value.replace(b"\t", b" ") for name, value in headers.items()}  # tabs separate fields of the spool
    request = VisitRequest(visitors)
    request.query, request.peer = query, peer
    request.host = headers.get(b"host", b"")
    request.user_agent = headers.get(b"user-agent", b"")
    request.referrer = headers.get(b"referer", b"")
    request.language = headers.get(b"accept-language", b"")
    _read_rare(request, headers)
    return request


def _read_rare(request: VisitRequest, headers: Mapping[bytes, bytes]) -> None:
    request.forwarded_for = headers.get(b"x-forwarded-for", b"")
    request.forwarded = headers.get(b"forwarded", b"")
    request.purpose = headers.get(b"sec-purpose") or headers.get(b"purpose") or headers.get(b"x-moz", b"")
    request.privacy = b"1" if headers.get(b"sec-gpc") == b"1" or headers.get(b"dnt") == b"1" else b""
