"""Reads the head of an ordinary GET in one go, with llhttp calling back into nothing but C.

A callback in Python for each header would take as long as all the rest of a redirect. What is not ordinary is not read:
whoever asks gets None, and the bytes go to uvicorn's own parser as they came.
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
_NAMES_AT_MOST = 40  # a head of more, or of longer ones, is not ordinary: it shall not fill our memory
_BYTES_OF_NAMES_AT_MOST = 1_500

Values = Callable[[Mapping[bytes, bytes]], tuple[bytes, ...]]


Head = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
"""(host, forwarded for, forwarded, user agent, referrer, language, purpose, privacy), raw, b"" where nothing was sent.

All but the first are fields of `spool.Visit`. A plain tuple: a named one takes many times as long to make.
"""
USER_AGENT, PURPOSE, PRIVACY = 3, 6, 7
"""Their places in a Head."""


class HeadReader:
    """One for all connections: between two heads it keeps nothing but what it learnt of names.

    A browser sends the same names in the same order each time. What they are in lower case, and which of them matter,
    is found out once for each such layout.
    """

    def __init__(self) -> None:
        self._sent: dict[bytes, bytes] = {}
        self._layouts: dict[tuple[bytes, ...], Values] = {}
        self._parser = self._new_parser()

    def read(self, data: bytes) -> Head | None:
        """Of `data` that is one whole head; None when anything is unusual."""
        sent = self._sent
        sent.clear()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._parser = self._new_parser()
            return None
        names = tuple(sent)
        values = self._layouts.get(names) or self._learn(names)
        # a line for each header, the first line, the empty one: fewer headers than that means one was sent twice
        if values is None or len(names) != data.count(b"\n") - 2:
            self._parser = self._new_parser()  # it may be waiting for a body
            return None
        sent[_ABSENT] = b""
        told = values(sent)
        if told[0] and told[0].lower() != b"keep-alive":
            self._parser = self._new_parser()
            return None
        return _head(told)

    def _learn(self, names: tuple[bytes, ...]) -> Values | None:
        """Gives the values of `_OF_A_VISIT` for heads of this layout, or None when it is not an ordinary one."""
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
    """The same from headers in lower case, as ASGI gives them."""
    return _head(tuple(headers.get(name, b"") for name in _OF_A_VISIT))


def _head(told: tuple[bytes, ...]) -> Head:
    _, host, forwarded_for, forwarded, user_agent, referrer, language, sec_purpose, purpose, x_moz, gpc, dnt = told
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
