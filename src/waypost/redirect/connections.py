"""What all connections of one process may hold together, and which of them are closed when they hold more.

Closed are connections that wait for their own client: those in the middle of a request first, then idle ones. A
connection whose request is complete waits for us and is never closed.
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
_FRESH = 1.0  # seconds in which an honest client has sent the rest of its request
_LOG_EVERY = 60.0  # seconds

log = structlog.get_logger(__name__)


class Connection(Protocol):
    peer: bytes
    active_at: float
    """When its current request began, or when the last one was answered. Seconds of the monotonic clock."""
    held: int
    """Bytes of memory that requests take which are incomplete or were sent ahead."""

    @property
    def is_incomplete(self) -> bool:
        """Whether a request has begun to arrive and more of it has to come."""

    @property
    def is_waiting(self) -> bool:
        """Whether its client has the next step: it is incomplete or idle, has sent requests ahead, or does not read."""

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
        """`at_most`: connections; by default a third of the descriptors that the process may have. Each may be sent a
        file, which is open as long as it is read; the database and unfinished TLS handshakes have the rest.
        """
        self._at_most = at_most or raise_descriptor_limit() // 3
        self._held_at_most = held_at_most
        self._count_malformed = count_malformed
        self._open: set[Connection] = set()
        self._held = 0
        self._malformed = 0
        self._malformed_unlogged = 0
        self._reason = ""
        self._logged_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, new: Connection) -> None:
        """Makes room for the newest visitor: near the limit others are closed, many at once, so that it is rare."""
        self._open.add(new)
        excess = len(self._open) - self._at_most
        if excess <= 0:
            return
        count = excess + self._at_most // 16
        victims = [each for each in _worst(count + 1, self._open, lambda _: 1) if each is not new]
        for connection in victims[:count] or [new]:
            connection.abort()
            self.leave(connection)

    def leave(self, connection: Connection) -> None:
        self.release(connection)
        self._open.discard(connection)

    def hold(self, connection: Connection, size: int) -> None:
        """Counts memory that a request takes. May abort any incomplete connection, this one included."""
        connection.held += size
        self._held += size
        if self._held > self._held_at_most:
            self._shed()

    def release(self, connection: Connection) -> None:
        self._held -= connection.held
        connection.held = 0

    def check(self, now: float) -> None:
        """Once a second."""
        for connection in list(self._open):
            connection.check(now)

    def malformed(self, reason: str) -> None:
        """Only counts; `report` logs. A log line for each would let anybody fill the disk."""
        self._malformed += 1
        self._malformed_unlogged += 1
        self._reason = reason

    def report(self) -> None:
        """Once a second, off the event loop."""
        count, self._malformed = self._malformed, 0
        if count:
            self._count_malformed(count)
        if self._malformed_unlogged and time.monotonic() - self._logged_at >= _LOG_EVERY:
            log.warning("malformed requests refused", count=self._malformed_unlogged, last_reason=self._reason)
            self._malformed_unlogged = 0
            self._logged_at = time.monotonic()

    def _shed(self) -> None:
        """Down to three quarters: looking at all connections for each piece of data would be an attack of its own."""
        holders = [each for each in self._open if each.held]
        for connection in _worst(len(holders) // 8 + 1, holders, lambda each: each.held):
            if self._held <= self._held_at_most * 3 // 4:
                return
            connection.abort()
            self.leave(connection)


def _worst(count: int, among: Iterable[Connection], weight: Callable[[Connection], int]) -> list[Connection]:
    """Incomplete ones before idle ones, those of the heaviest address first, and the oldest of these."""
    waiting = [each for each in among if each.is_waiting]
    weights: Counter[bytes] = Counter()
    for each in waiting:
        weights[each.peer] += weight(each)
    before = time.monotonic() - _FRESH

    def badness(each: Connection) -> tuple[bool, int, float]:
        return (not (each.is_incomplete and each.active_at < before), -weights[each.peer], each.active_at)

    return heapq.nsmallest(count, waiting, key=badness)


def raise_descriptor_limit() -> int:
    """Takes what the system allows, up to a bound, and returns how many descriptors this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return min(allowed, _DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
