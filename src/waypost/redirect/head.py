"""Parses the head of an ordinary GET in one call, without Python callbacks from llhttp.

A Python callback for each header would take as long as the rest of a redirect. For anything unusual the result is None,
and the bytes go to uvicorn's parser unchanged.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from types import SimpleNamespace

import httptools

_UNUSUAL = {b"content-length", b"transfer-encoding", b"expect", b"upgrade"}
_OF_A_VISIT = (
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
_LAYOUTS_AT_MOST = 1_000
_NAMES_AT_MOST = 40  # a head with more or longer names is unusual: it must not fill our memory
_BYTES_OF_NAMES_AT_MOST = 1_500

Values = Callable[[Mapping[bytes, bytes]], tuple[bytes, ...]]


Head = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
"""(host, forwarded for, forwarded, user agent, referrer, language, purpose, privacy): raw, b"" if not sent.

All but the first are fields of `spool.Visit`. A plain tuple: a named tuple takes many times as long to create.
"""
USER_AGENT, PURPOSE, PRIVACY = 3, 6, 7
"""Positions in a Head."""


class HeadReader:
    """Shared by all connections: between two heads it keeps only the layouts of names.

    A browser sends the same names in the same order each time. Each such layout is analysed once.
    """

    def __init__(self) -> None:
        self._sent: dict[bytes, bytes] = {}
        self._layouts: dict[tuple[bytes, ...], Values] = {}
        self._parser = self._new_parser()

    def read(self, data: bytes) -> Head | None:
        """`data` is one complete head. None if anything is unusual."""
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
        found = values(sent)
        if found[0] and found[0].lower() != b"keep-alive":
            self._parser = self._new_parser()
            return None
        return _head(found)

    def _new_layout(self, names: tuple[bytes, ...]) -> Values | None:
        """Returns the getter of `_OF_A_VISIT` for this layout, or None for an unusual one."""
        sent_as = {name.lower(): name for name in names}
        is_bounded = len(names) <= _NAMES_AT_MOST and sum(map(len, names)) <= _BYTES_OF_NAMES_AT_MOST
        if not is_bounded or len(sent_as) < len(names) or not sent_as.keys().isdisjoint(_UNUSUAL):
            return None
        if len(self._layouts) >= _LAYOUTS_AT_MOST:
            self._layouts.clear()
        values = self._layouts[names] = itemgetter(*(sent_as.get(name, _ABSENT) for name in _OF_A_VISIT))
        return values

    def _new_parser(self) -> httptools.HttpRequestParser:
        return httptools.HttpRequestParser(SimpleNamespace(on_header=self._sent.setdefault))


def head_of(headers: Mapping[bytes, bytes]) -> Head:
    """Takes ASGI headers, in lower case."""
    return _head(tuple(headers.get(name, b"") for name in _OF_A_VISIT))


def _head(found: tuple[bytes, ...]) -> Head:
    _, host, forwarded_for, forwarded, user_agent, referrer, language, sec_purpose, purpose, x_moz, gpc, dnt = found
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
