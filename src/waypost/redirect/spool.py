"""Visits on their way to the database: one line each, in append-only segment files of this machine.

A line is written before its redirect is sent, so a killed process loses no redirected visit. It is fsynced once a
second, so a crashed machine loses one second at most. A writer locks its segment; an unlocked segment is finished. The
drainer reads the lines and stores its position.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, NamedTuple

import structlog

from waypost.redirect.metrics import DROPPED
from waypost.redirect.segment import HEADER, SUFFIX, Segment, remove_unnamed

log = structlog.get_logger(__name__)

_MAX_SEGMENT_SIZE = 64 << 20
_MAX_FIELD_SIZE = 1024
MAX_LINE_SIZE: Final = 4096


class Visit(NamedTuple):
    """One line. Headers are raw: the drainer interprets them."""

    id: bytes  # UUIDv7, 32 hex digits
    at: bytes  # microseconds since 1970, decimal
    link: bytes  # 32 hex digits
    query: bytes = b""
    peer: bytes = b""  # IP address of the other end of the connection
    forwarded_for: bytes = b""  # separate from the next one: a visitor can forge either
    forwarded: bytes = b""
    user_agent: bytes = b""
    referrer: bytes = b""
    language: bytes = b""
    purpose: bytes = b""  # Sec-Purpose, Purpose or X-Moz: a prefetch is not a click
    privacy: bytes = b""  # "1" when Sec-GPC or DNT asks for it
    pixels: bytes = b""  # fired, comma-separated: a letter of PLATFORM_LETTERS and our pixel's id in 32 hex digits
    target: bytes = b""  # name of the rule or variant in UTF-8, or "default"; only of links with rules or variants


_FIELD_COUNTS = {len(Visit._fields) - 1, len(Visit._fields)}  # without and with the target


def encode(visit: Sequence[bytes]) -> bytes:
    """Encode a Visit, with or without target, as a line. The HTTP parser allows tabs in headers, but no line ends."""
    line = b"\t".join(visit)
    if len(line) > MAX_LINE_SIZE or line.count(b"\t") != len(visit) - 1:
        return b"\t".join(map(_sanitized, Visit._fields, visit)) + b"\n"
    return line + b"\n"


def _sanitized(name: str, field: bytes) -> bytes:
    """Shorten a field. Keeps the end of forwarding headers, where our proxies append, and pixels as they are."""
    if name == "pixels":
        return field
    kept = field[-_MAX_FIELD_SIZE:] if name in _APPENDED_TO else field[:_MAX_FIELD_SIZE]
    return kept.translate(_BLANKS)


_APPENDED_TO = {"forwarded_for", "forwarded"}
_BLANKS = bytes(0x20 if byte in b"\t\r\n" else byte for byte in range(256))


def decode(line: bytes) -> Visit | None:
    """Decode a line. None if a full disk or a crash of the machine damaged it."""
    fields = line.split(b"\t")
    is_complete = len(fields) in _FIELD_COUNTS
    if not is_complete or len(fields[0]) != 32 or len(fields[2]) != 32 or not fields[1].isdigit():
        return None
    return Visit(*fields)


def link_of(line: bytes) -> bytes:
    """Return the link's id of a line without decoding the rest. Of a damaged line, anything."""
    fields = line.split(b"\t", 3)
    return fields[2] if len(fields) > 3 else b""  # the one after it exists


class Spool:
    """The writer of one process. `append` runs in the event loop, `sync` in a thread."""

    def __init__(self, directory: Path, *, limit: int) -> None:
        """`limit`: bytes of all segments together. Visits beyond it are dropped, counted and logged."""
        directory.mkdir(parents=True, exist_ok=True)
        remove_unnamed(directory)
        self._directory = directory
        self._limit = limit
        self._is_below_limit = True
        self._segment: Segment | None = None
        self._appending = Lock()  # never held during an fsync: the event loop would wait, too
        self._syncing = Lock()
        self._is_closed = False
        self._has_open_failed = False
        self._has_measuring_failed = False
        self._error: OSError | None = None
        self.dropped = 0
        self._dropped_logged = 0
        self._renew()

    def append(self, lines: bytes) -> None:
        """Append complete lines. Never raises or logs: a redirect depends on neither our disk nor our log."""
        with self._appending:
            if self._segment is None or not self._is_below_limit:
                self.dropped += lines.count(b"\n")
                return
            dropped, error = self._segment.append(lines)
        if error:
            self.dropped += dropped
            self._error = error

    def sync(self) -> None:
        """Sync to disk, measure the spool and log errors. Called once a second, off the event loop."""
        with self._syncing:
            if self._is_closed:
                return
            self._renew()
            if self._segment:
                with contextlib.suppress(OSError):  # a full disk shows at the next write
                    self._segment.sync()
            self._measure()
            self._log()

    def close(self) -> None:
        with self._syncing:
            self._is_closed = True
            self._switch_to(None)

    def _renew(self) -> None:
        """Open the first segment, or another one when it is full. On failure the old one stays in use."""
        if self._segment and self._segment.size < _MAX_SEGMENT_SIZE:
            return
        try:
            segment = Segment.open(self._directory)
        except OSError as error:
            if not self._has_open_failed:
                log.error("spool segment could not be created", directory=str(self._directory), error=error.strerror)
            self._has_open_failed = True
        else:
            self._has_open_failed = False
            self._switch_to(segment)

    def _measure(self) -> None:
        """Compare the size with the limit. On failure (no descriptor left) the last result stays valid."""
        try:
            self._is_below_limit = sum(bytes_of(segments(self._directory))) < self._limit
        except OSError as error:
            if not self._has_measuring_failed:
                log.error("spool size could not be measured", directory=str(self._directory), error=error.strerror)
            self._has_measuring_failed = True
        else:
            self._has_measuring_failed = False

    def _switch_to(self, segment: Segment | None) -> None:
        with self._appending:
            old, self._segment = self._segment, segment
        if old:
            old.close()

    def _log(self) -> None:
        error, self._error = self._error, None
        if error:
            log.error("visit could not be recorded", error=str(error), directory=str(self._directory))
        if self.dropped > self._dropped_logged:
            DROPPED.add(self.dropped - self._dropped_logged)
            self._dropped_logged = self.dropped
            reason = "disk error" if self._is_below_limit else "spool limit reached"
            log.error("visits dropped", dropped=self.dropped, reason=reason, directory=str(self._directory))


def segments(directory: Path) -> list[Path]:
    """List segments, oldest first: names are UUIDv7s."""
    return sorted(directory.glob(f"*{SUFFIX}"))


def bytes_of(paths: list[Path]) -> Iterator[int]:
    for path in paths:
        with contextlib.suppress(OSError):  # the drainer has removed it
            yield path.stat().st_size


class UnknownFormat(Exception):
    """Another version wrote the segment in a different format."""


def read_lines(path: Path, position: int, limit: int) -> tuple[list[bytes], int]:
    """Read complete lines from `position` on, at most `limit` bytes, and return them with the position after them.

    Raises UnknownFormat and FileNotFoundError.
    """
    with path.open("rb") as file:
        return read_open_lines(file, position, limit)


def read_open_lines(file: BinaryIO, position: int, limit: int) -> tuple[list[bytes], int]:
    """`read_lines` of an open segment, which may have been removed since."""
    file.seek(0)
    if file.read(len(HEADER)) != HEADER:
        raise UnknownFormat(file.name)
    start = max(position, len(HEADER))
    file.seek(start)
    chunk = file.read(limit)
    end = chunk.rfind(b"\n") + 1
    return chunk[:end].split(b"\n")[:-1], start + end


def is_finished(path: Path) -> bool:
    """Return whether no process writes to the segment any more. Call it before the last read, as it may still grow."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(fd)
