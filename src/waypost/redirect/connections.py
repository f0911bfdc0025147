"""Limits on all connections of a process together: their number and the memory of incomplete requests.

Beyond a limit, connections that wait for their client are closed: incomplete requests first, then idle connections. A
connection with a complete request waits for us and is never closed.
"""

import heapq
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

_DESCRIPTORS = 32_768
_HELD_AT_MOST = 12 << 20  # bytes
_GRACE = 1.0  # seconds in which a well-behaved client sends the rest of its request
_LOG_EVERY = 60.0  # seconds

log = structlog.get_logger(__name__)


class ClientConnection(Protocol):
    peer: bytes
    active_at: float
    """When the current request began or the last answer ended, on the monotonic clock."""
    held: int
    """Bytes of memory of incomplete and pipelined requests."""

    @property
    def is_incomplete(self) -> bool:
        """Whether a part of a request has arrived."""

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its client: incomplete, idle, pipelining, or not reading."""

    def abort(self) -> None: ...

    def check(self, now: float) -> None:
        """Closes the connection if its client is overdue. Called once a second."""


class Connections:
    def __init__(
        self,
        *,
        at_most: int | None = None,
        held_at_most: int = _HELD_AT_MOST,
        count_malformed: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`at_most`: connections. By default a third of the process's file descriptors: a connection may need another
        one for a file it is sent; the database and TLS handshakes in progress use the rest.
        """
        self._at_most = at_most or raise_descriptor_limit() // 3
        self._held_at_most = held_at_most
        self._on_malformed = count_malformed
        self._open: set[ClientConnection] = set()
        self._held = 0
        self._malformed = 0
        self._malformed_unlogged = 0
        self._reason = ""
        self._logged_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, new: ClientConnection) -> None:
        """Admits the new connection. At the limit it closes others, many at once, so that this happens rarely."""
        self._open.add(new)
        excess = len(self._open) - self._at_most
        if excess <= 0:
            return
        count = excess + self._at_most // 16
        victims = [each for each in _worst(count + 1, self._open, lambda _: 1) if each is not new]
        for connection in victims[:count] or [new]:
            connection.abort()
            self.leave(connection)

    def leave(self, connection: ClientConnection) -> None:
        self.release(connection)
        self._open.discard(connection)

    def hold(self, connection: ClientConnection, size: int) -> None:
        """Adds memory of a request. May abort any incomplete connection, including this one."""
        connection.held += size
        self._held += size
        if self._held > self._held_at_most:
            self._shed()

    def release(self, connection: ClientConnection) -> None:
        self._held -= connection.held
        connection.held = 0

    def check(self, now: float) -> None:
        """Once a second."""
        for connection in list(self._open):
            connection.check(now)

    def count_malformed(self, reason: str) -> None:
        """Counts a malformed request. `report` logs: a log line for each would let anyone fill the disk."""
        self._malformed += 1
        self._malformed_unlogged += 1
        self._reason = reason

    def report(self) -> None:
        """Once a second, off the event loop."""
        count, self._malformed = self._malformed, 0
        if count:
            self._on_malformed(count)
        if self._malformed_unlogged and time.monotonic() - self._logged_at >= _LOG_EVERY:
            log.warning("malformed requests refused", count=self._malformed_unlogged, last_reason=self._reason)
            self._malformed_unlogged = 0
            self._logged_at = time.monotonic()

    def _shed(self) -> None:
        """Frees a quarter: examining all connections for each chunk of data would be too expensive under attack."""
        holders = [each for each in self._open if each.held]
        for connection in _worst(len(holders) // 8 + 1, holders, lambda each: each.held):
            if self._held <= self._held_at_most * 3 // 4:
                return
            connection.abort()
            self.leave(connection)


def _worst(
    count: int, among: Iterable[ClientConnection], weight: Callable[[ClientConnection], int]
) -> list[ClientConnection]:
    """Incomplete before idle connections, then the address that uses most, then the oldest."""
    waiting = [each for each in among if each.is_waiting]
    weights: Counter[bytes] = Counter()
    for each in waiting:
        weights[each.peer] += weight(each)
    before = time.monotonic() - _GRACE

    def badness(each: ClientConnection) -> tuple[bool, int, float]:
        return (not (each.is_incomplete and each.active_at < before), -weights[each.peer], each.active_at)

    return heapq.nsmallest(count, waiting, key=badness)


def raise_descriptor_limit() -> int:
    """Raises the soft limit as far as useful and allowed. Returns the number of descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return min(allowed, _DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
