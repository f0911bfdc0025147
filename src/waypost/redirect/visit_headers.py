"""Parses the head of an ordinary GET in one call, without Python callbacks from llhttp.

A Python callback for each header would take as long as the rest of a redirect. For anything unusual the result is None,
and the bytes go to uvicorn's parser unchanged.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from types import SimpleNamespace

import httptools

_UNUSUAL = {b"content-length", b"transfer-encoding", b"expect", b"upgrade"}
_VISIT_HEADERS = (
    b"connection",
    b"host",
    b"x-forwarded-for",
    b"forwarded",
    b"user-agent",
    b"referer",
    b"accept-language",
    b"sec-purpose",
    b"purpose",
    b"x-moz",
    b"sec-gpc",
    b"dnt",
)
_ABSENT = b""
_MAX_LAYOUTS = 1_000
_MAX_NAMES = 40  # a head with more or longer names is unusual: it must not fill our memory
_MAX_NAME_BYTES = 1_500

Values = Callable[[Mapping[bytes, bytes]], tuple[bytes, ...]]


VisitHeaders = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
"""(host, forwarded for, forwarded, user agent, referrer, language, purpose, privacy): raw, b"" if not sent.

All but the first are fields of `spool.Visit`. A plain tuple: a named tuple takes many times as long to create.
"""
FORWARDED_FOR, FORWARDED, USER_AGENT, LANGUAGE, PURPOSE, PRIVACY = 1, 2, 3, 5, 6, 7
"""Positions in VisitHeaders."""

_PREFETCH_PURPOSES = (b"prefetch", b"prerender", b"preview")


def is_prefetch(purpose: bytes) -> bool:
    """Return whether the browser only prepares for a visit, which is no click."""
    return bool(purpose) and any(word in purpose.lower() for word in _PREFETCH_PURPOSES)


class HeaderReader:
    """Parses heads for all connections. Between two heads it keeps only the layouts of names.

    A browser sends the same names in the same order each time. Each such layout is analyzed once.
    """

    def __init__(self) -> None:
        self._sent: dict[bytes, bytes] = {}
        self._layouts: dict[tuple[bytes, ...], Values] = {}
        self._parser = self._new_parser()

    def read(self, data: bytes) -> VisitHeaders | None:
        """Return the headers of one complete head. None if anything is unusual."""
        sent = self._sent
        sent.clear()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._parser = self._new_parser()
            return None
        names = tuple(sent)
        values = self._layouts.get(names) or self._new_layout(names)
        # one line per header, the request line, the empty line: with fewer names, a header was repeated
        if values is None or len(names) != data.count(b"\n") - 2:
            self._parser = self._new_parser()  # it may be waiting for a body
            return None
        sent[_ABSENT] = b""
        header_values = values(sent)
        if header_values[0] and header_values[0].lower() != b"keep-alive":
            self._parser = self._new_parser()
            return None
        return _visit_headers(header_values)

    def _new_layout(self, names: tuple[bytes, ...]) -> Values | None:
        """Return the getter of `_VISIT_HEADERS` for this layout, or None for an unusual one."""
        sent_as = {name.lower(): name for name in names}
        is_bounded = len(names) <= _MAX_NAMES and sum(map(len, names)) <= _MAX_NAME_BYTES
        if not is_bounded or len(sent_as) < len(names) or not sent_as.keys().isdisjoint(_UNUSUAL):
            return None
        if len(self._layouts) >= _MAX_LAYOUTS:
            self._layouts.clear()
        values = self._layouts[names] = itemgetter(*(sent_as.get(name, _ABSENT) for name in _VISIT_HEADERS))
        return values

    def _new_parser(self) -> httptools.HttpRequestParser:
        return httptools.HttpRequestParser(SimpleNamespace(on_header=self._sent.setdefault))


def read_visit_headers(headers: Mapping[bytes, bytes]) -> VisitHeaders:
    """Return the visit headers of ASGI headers, whose names are in lower case."""
    return _visit_headers(tuple(headers.get(name, b"") for name in _VISIT_HEADERS))


def _visit_headers(values: tuple[bytes, ...]) -> VisitHeaders:
    _, host, forwarded_for, forwarded, user_agent, referrer, language, sec_purpose, purpose, x_moz, gpc, dnt = values
    is_private = b"1" if gpc == b"1" or dnt == b"1" else b""
    return (
        host,
        forwarded_for,
        forwarded,
        user_agent,
        referrer,
        language,
        sec_purpose or purpose or x_moz,
        is_private,
    )
