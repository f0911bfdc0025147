"""Reads a response as browsers do: the status line decides, and what is wrong after it is ignored.

No library reads what servers really send, and none has to: a connection is only used again after a response that is
right to the letter, so no other one can be hidden in it. A response has at most

- MAX_INTERIM interim responses (1xx),
- MAX_HEADS bytes up to the end of its head, of which MAX_FIELDS fields are read,
- MAX_FRAMING bytes around its body: chunk sizes, chunk extensions, trailers.
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from waypost.outbound.errors import Unreachable
from waypost.outbound.response import Headers

MAX_INTERIM = 20
MAX_HEADS = 131_072
MAX_FIELDS = 1_000
MAX_FRAMING = 32_768

CLOSED = "the connection was closed without a response"
NOT_HTTP = "the response is not valid HTTP"
TOO_LARGE = "the response headers are too large"
TOO_MANY_INTERIM = "too many interim responses (1xx)"

_WITHOUT_BODY = frozenset({101, 204, 304})
_STATUS = re.compile(rb"HTTP(?:/[0-9](?:\.[0-9])?)?[ \t]+([1-9][0-9]{2})(?![0-9])", re.IGNORECASE)
_MAX_STATUS = 64  # bytes in which it has to be
_END = re.compile(rb"\n\r?\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_BLANKS = " \t\r"
_MAX_LIST = 100  # characters of lengths or codings
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
# possessive, so that it never backtracks
_TIDY_HEAD = re.compile(rb"HTTP/1\.1 [1-9][0-9]{2} [^\r\n\0]*+\r\n(?:[!#-'*+\-.0-9A-Z^-z|~]++:[^\r\n\0]*+\r\n)*+\r\n")
_TIDY_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,15}(?:;[^\r\n\0]*+)?\r")


class ResponseReader:
    def __init__(self, receive: Callable[[], Awaitable[bytes]]) -> None:
        """`receive`: returns what arrived, and nothing at the end; raises OSError."""
        self._receive = receive
        self._buffer = bytearray()
        self._is_tidy = True
        self._has_ended = False
        self._left_for_heads = MAX_HEADS
        self._left_for_framing = MAX_FRAMING
        self._left: int | None = 0
        """Bytes of the body, or of its chunk. None: all that arrives."""
        self._is_chunked = self._has_chunks = False
        self.status = 0
        self.headers = Headers()
        self.is_complete = False
        """Whether the body was read to its end."""

    @property
    def allows_another(self) -> bool:
        """Whether another request may be sent on the connection."""
        closes = "close" in self.headers.get("connection", "").lower()
        return self.is_complete and self._is_tidy and not self._buffer and not closes

    @property
    def ends_with_head(self) -> bool:
        """Whether nothing followed the head so far, not even the connection's end."""
        return not self._buffer and not self._has_ended

    async def read_head(self, method: str) -> None:
        """Read the status and the headers. Raises OSError, Unreachable."""
        for _ in range(MAX_INTERIM + 1):
            head = await self._next_head()
            self._is_tidy = self._is_tidy and _is_tidy(head)
            self.status = _status(head)
            if self.status == 101 or self.status >= 200:
                self.headers = Headers(_fields(head))
                self._begin_body(has_body=method not in {"HEAD", "CONNECT"} and self.status not in _WITHOUT_BODY)
                return
        raise Unreachable(TOO_MANY_INTERIM)

    async def read(self) -> bytes:
        """Return the next part of the body. Nothing: it has ended, or is cut off."""
        try:
            if self._left == 0 and self._is_chunked:
                self._left = await self._next_chunk()
            if self._left == 0:
                return b""
            if not self._buffer and not await self._receive_more():
                return self._finish(is_complete=self._left is None)
        except OSError:
            return self._finish(is_complete=False)
        part = bytes(self._buffer[: self._left])
        del self._buffer[: len(part)]
        if self._left is not None:
            self._left -= len(part)
            self.is_complete = self._left == 0 and not self._is_chunked
        return part

    def _finish(self, *, is_complete: bool) -> bytes:
        self._left, self._is_chunked, self.is_complete = 0, False, is_complete
        return b""

    async def _next_head(self) -> bytes:
        """Return a head whose first line has a status. The last line may be missing."""
        searched = 0
        while True:
            if self._buffer.startswith((b"\r", b"\n")):
                self._buffer, self._is_tidy = self._buffer.lstrip(b"\r\n"), False
            if not _STATUS.match(self._buffer) and (len(self._buffer) >= _MAX_STATUS or b"\n" in self._buffer):
                raise Unreachable(NOT_HTTP)
            if found := _END.search(self._buffer, searched):
                return self._take(found.end())
            searched = max(0, len(self._buffer) - 2)
            if self._left_for_heads <= 0:
                raise Unreachable(TOO_LARGE)
            received = await self._receive_more()
            self._left_for_heads -= received
            if not received:
                return self._take_cut_off_head()

    def _take_cut_off_head(self) -> bytes:
        """Return all of its lines that have an end."""
        self._has_ended = True
        size = self._buffer.rfind(b"\n") + 1
        if not size:
            raise Unreachable(CLOSED if b"HTTP".startswith(bytes(self._buffer[:4]).upper()) else NOT_HTTP)
        return self._take(size)

    def _begin_body(self, *, has_body: bool) -> None:
        lengths, codings = self.headers.all("content-length"), self.headers.all("transfer-encoding")
        framing = [*lengths, *codings]
        if not has_body or self._has_ended:
            self._is_tidy = self._is_tidy and framing in ([], ["0"])
            self._finish(is_complete=not has_body)
            return
        is_unambiguous = len(framing) == 1 and (framing[0].isdecimal() or framing[0].lower() == "chunked")
        self._is_tidy = self._is_tidy and is_unambiguous
        self._is_chunked = "chunked" in _values(codings)
        sizes = [int(text) for text in _values(lengths) if text.isdecimal() and len(text) < 19]
        self._left = 0 if self._is_chunked else min(sizes, default=None)
        self.is_complete = self._left == 0 and not self._is_chunked

    async def _next_chunk(self) -> int:
        """Return the size of the next chunk; 0 if none follows."""
        line = await self._line()
        if self._has_chunks:  # it ends the chunk before
            self._is_tidy = self._is_tidy and line == b"\r"
            line = await self._line() if line in {b"\r", b""} else line
        self._has_chunks = True
        text = line.partition(b";")[0].strip() if line else b""
        if line is None or not _SIZE.fullmatch(text):
            self._finish(is_complete=False)
            return 0
        self._is_tidy = self._is_tidy and _TIDY_CHUNK.fullmatch(line) is not None
        size = int(text, 16)
        if size == 0:  # trailers are not waited for
            self._is_tidy = self._is_tidy and self._take(len(self._buffer)) == b"\r\n"
            self._finish(is_complete=True)
        return size

    async def _line(self) -> bytes | None:
        """Return a line around chunks. None: there is no other one, or they are too long."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > self._left_for_framing or not await self._receive_more():
                return None
        self._left_for_framing -= end + 1
        return self._take(end + 1)[:-1] if self._left_for_framing >= 0 else None

    async def _receive_more(self) -> int:
        """Return how many bytes arrived. Raises OSError."""
        received = await self._receive()
        self._buffer += received
        return len(received)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken


def _status(head: bytes) -> int:
    match = _STATUS.match(head)
    return int(match[1]) if match else 0


def _is_tidy(head: bytes) -> bool:
    """Return whether a strict parser would read the same."""
    return _TIDY_HEAD.fullmatch(head) is not None and head.count(b"\n") <= MAX_FIELDS


def _fields(head: bytes) -> list[tuple[str, str]]:
    """Return (name in lower case, value) of each line. One that has no colon is none."""
    text = b"\n".join(head.split(b"\n", MAX_FIELDS + 1)[1 : MAX_FIELDS + 1])
    lines = _FOLD.sub(b" ", text).decode("latin-1").split("\n")
    parts = [line.partition(":") for line in lines]
    return [(name.strip(_BLANKS).lower(), value.strip(_BLANKS)) for name, colon, value in parts if colon]


def _values(lists: Sequence[str]) -> list[str]:
    return [value.strip(_BLANKS).lower() for text in lists for value in text[:_MAX_LIST].split(",")]
