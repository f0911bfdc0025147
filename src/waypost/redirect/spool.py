"""Visits on their way to the database: one line each, in append-only segment files of this machine.

A line is written before its redirect is answered, so a killed process loses no answered visit, and is fsynced once a
second, so a crashed machine loses one second at most. A writer holds a lock on its segment; a segment nobody holds is
finished. Reading, and remembering how far, is the drainer's business.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple

import structlog

from waypost.redirect.segment import HEADER, HEADER_1, SUFFIX, Segment, sweep

log = structlog.get_logger(__name__)

_SEGMENT_BYTES = 64 << 20
_TAB_COUNT = 12
_FIELD_LIMIT = 1024
_LINE_LIMIT = 4096


class Visit(NamedTuple):
    """One line. Headers are raw, as sent: what they mean is decided when the line is drained."""

    id: bytes  # UUIDv7, 32 hex digits
    at: bytes  # microseconds since 1970, decimal
    link: bytes  # 32 hex digits
    query: bytes = b""
    peer: bytes = b""  # address of the other end of the connection
    forwarded_for: bytes = b""  # apart from the next one: a visitor writes what he likes into either
    forwarded: bytes = b""
    user_agent: bytes = b""
    referrer: bytes = b""
    language: bytes = b""
    purpose: bytes = b""  # Sec-Purpose, Purpose or X-Moz: prefetching is not visiting
    privacy: bytes = b""  # "1" when Sec-GPC or DNT asks for it
    pixels: bytes = b""  # fired, with commas: a letter of PLATFORM_LETTERS and the pixel's id, 32 hex digits


def encode(visit: tuple[bytes, ...]) -> bytes:
    """The line of a Visit's fields. The parser lets a tab through in a header's value, but no line end."""
    line = b"\t".join(visit)
    if len(line) > _LINE_LIMIT or line.count(b"\t") != _TAB_COUNT:
        return b"\t".join(map(_tamed, Visit._fields, visit)) + b"\n"
    return line + b"\n"


def _tamed(name: str, field: bytes) -> bytes:
    """Of the forwarding headers the end is kept: there stands what our own proxies say, before it the visitor's own.

    The pixels are ours and needed whole.
    """
    if name == "pixels":
        return field
    kept = field[-_FIELD_LIMIT:] if name in _GROW_AT_THE_END else field[:_FIELD_LIMIT]
    return kept.translate(_BLANKS)


_GROW_AT_THE_END = {"forwarded_for", "forwarded"}
_BLANKS = bytes(0x20 if byte in b"\t\r\n" else byte for byte in range(256))


def decode(line: bytes) -> Visit | None:
    """None for a line that was torn by a full disk or a crash of the machine."""
    fields = line.split(b"\t")
    if len(fields) != len(Visit._fields) or len(fields[0]) != 32 or len(fields[2]) != 32 or not fields[1].isdigit():
        return None
    return Visit(*fields)


class Spool:
    """The end of the spool that one process writes to: `append` in the event loop, `sync` in a thread."""

    def __init__(self, directory: Path, *, limit: int) -> None:
        """`limit`: bytes all segments together may take. What finds no room is counted in `dropped`, and told."""
        directory.mkdir(parents=True, exist_ok=True)
        sweep(directory)
        self._directory = directory
        self._limit = limit
        self._has_room = True
        self._segment: Segment | None = None
        self._appending = Lock()  # never held while the disk is waited for: the event loop would wait too
        self._syncing = Lock()
        self._is_closed = False
        self._is_out = False
        self._is_blind = False
        self._error: OSError | None = None
        self.dropped = 0
        self._dropped_told = 0
        self._renew()

    def append(self, lines: bytes) -> None:
        """Whole lines. Never raises and tells nobody: a visitor's redirect depends on neither our disk nor our log."""
        with self._appending:
            if self._segment is None or not self._has_room:
                self.dropped += lines.count(b"\n")
                return
            dropped, error = self._segment.append(lines)
        if error:
            self.dropped += dropped
            self._error = error

    def sync(self) -> None:
        """Once a second, off the event loop: to the disk, room measured again, trouble told."""
        with self._syncing:
            if self._is_closed:
                return
            self._renew()
            if self._segment:
                with contextlib.suppress(OSError):  # a full disk shows at the next write
                    self._segment.sync()
            self._measure()
            self._tell()

    def close(self) -> None:
        with self._syncing:
            self._is_closed = True
            self._go_on_with(None)

    def _renew(self) -> None:
        """A segment where there is none, another one where it has its size; if none can be made the old one goes on."""
        if self._segment and self._segment.size < _SEGMENT_BYTES:
            return
        try:
            fresh = Segment.open(self._directory)
        except OSError as error:
            if not self._is_out:
                log.error("no spool segment can be made", directory=str(self._directory), error=str(error))
            self._is_out = True
        else:
            self._is_out = False
            self._go_on_with(fresh)

    def _measure(self) -> None:
        """Where nobody can look (no file can be opened), what was seen last counts, and visits go on."""
        try:
            self._has_room = sum(bytes_of(segments(self._directory))) < self._limit
        except OSError as error:
            if not self._is_blind:
                log.error("the spool cannot be measured", directory=str(self._directory), error=str(error))
            self._is_blind = True
        else:
            self._is_blind = False

    def _go_on_with(self, fresh: Segment | None) -> None:
        with self._appending:
            old, self._segment = self._segment, fresh
        if old:
            old.close()

    def _tell(self) -> None:
        error, self._error = self._error, None
        if error:
            log.error("a visit could not be recorded", error=str(error), directory=str(self._directory))
        if self.dropped > self._dropped_told:
            self._dropped_told = self.dropped
            reason = "disk error" if self._has_room else "the spool has reached its limit"
            log.error("visits not recorded", dropped=self.dropped, reason=reason, directory=str(self._directory))


def segments(directory: Path) -> list[Path]:
    """Oldest first: their names are UUIDv7s."""
    return sorted(directory.glob(f"*{SUFFIX}"))


def bytes_of(paths: list[Path]) -> Iterator[int]:
    for path in paths:
        with contextlib.suppress(OSError):  # drained meanwhile
            yield path.stat().st_size


class UnknownFormat(Exception):
    """The segment was written by another version of this program, whose lines mean something else."""


def read_lines(path: Path, position: int, limit: int) -> tuple[list[bytes], int]:
    """Whole lines from `position`, at most `limit` bytes of them, and the position behind them.

    Lines of version 1 get the field that they lack.

    Raises UnknownFormat, and FileNotFoundError.
    """
    with path.open("rb") as file:
        return read_lines_of(file, position, limit)


def read_lines_of(file: BinaryIO, position: int, limit: int) -> tuple[list[bytes], int]:
    """The same of an open segment, which may have been removed since."""
    file.seek(0)
    header = file.read(len(HEADER))
    if header not in {HEADER, HEADER_1}:
        raise UnknownFormat(file.name)
    start = max(position, len(HEADER))
    file.seek(start)
    chunk = file.read(limit)
    end = chunk.rfind(b"\n") + 1
    lines = chunk[:end].split(b"\n")[:-1]
    if header == HEADER_1:
        lines = [line and line + b"\t" for line in lines]
    return lines, start + end


def is_finished(path: Path) -> bool:
    """Whether no process writes to the segment any more. Look first, then read once more: it may have grown before."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(fd)
