"""Limits of all connections of a process: their number, and the memory of incomplete requests.

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

_MAX_DESCRIPTORS = 32_768
_MAX_MEMORY = 12 << 20  # bytes
_SLOW_AFTER = 1.0  # seconds in which a well-behaved client sends the rest of its request
_LOG_INTERVAL = 60.0  # seconds

log = structlog.get_logger(__name__)


class ClientConnection(Protocol):
    peer: bytes
    active_at: float
    """When the current request began or the last response ended, on the monotonic clock."""
    memory: int
    """Bytes of memory of incomplete and pipelined requests."""

    @property
    def is_incomplete(self) -> bool:
        """Whether a part of a request has arrived."""

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its client: incomplete, idle, pipelining, or not reading."""

    def abort(self) -> None: ...

    def check(self, now: float) -> None:
        """Close the connection if its client is overdue. Called once a second."""


class Connections:
    def __init__(
        self,
        *,
        max_connections: int | None = None,
        max_memory: int = _MAX_MEMORY,
        count_malformed: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`max_connections`: by default a third of the process's file descriptors.

        A connection may need another one to be sent a file; the database and TLS handshakes use the rest.
        """
        self._max_connections = max_connections or raise_descriptor_limit() // 3
        self._max_memory = max_memory
        self._on_malformed = count_malformed
        self._open: set[ClientConnection] = set()
        self._memory = 0
        self._malformed = 0
        self._malformed_unlogged = 0
        self._reason = ""
        self._logged_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def add(self, new: ClientConnection) -> None:
        """Add a new connection. At the limit, close many others together, so that this happens rarely."""
        self._open.add(new)
        excess = len(self._open) - self._max_connections
        if excess <= 0:
            return
        count = excess + self._max_connections // 16
        to_close = [old for old in _select_to_close(count + 1, self._open, lambda _: 1) if old is not new]
        for connection in to_close[:count] or [new]:
            connection.abort()
            self.remove(connection)

    def remove(self, connection: ClientConnection) -> None:
        self.release_memory(connection)
        self._open.discard(connection)

    def add_memory(self, connection: ClientConnection, size: int) -> None:
        """Add memory of a request. May abort any incomplete connection, including this one."""
        connection.memory += size
        self._memory += size
        if self._memory > self._max_memory:
            self._free_memory()

    def release_memory(self, connection: ClientConnection) -> None:
        self._memory -= connection.memory
        connection.memory = 0

    def check(self, now: float) -> None:
        """Close overdue connections. Called once a second."""
        for connection in list(self._open):
            connection.check(now)

    def count_malformed(self, reason: str) -> None:
        """Count a malformed request. `report` logs them: a line for each would let any client fill the disk."""
        self._malformed += 1
        self._malformed_unlogged += 1
        self._reason = reason

    def report(self) -> None:
        """Report malformed requests. Called once a second, off the event loop."""
        count, self._malformed = self._malformed, 0
        if count:
            self._on_malformed(count)
        if self._malformed_unlogged and time.monotonic() - self._logged_at >= _LOG_INTERVAL:
            log.warning("malformed requests refused", count=self._malformed_unlogged, last_reason=self._reason)
            self._malformed_unlogged = 0
            self._logged_at = time.monotonic()

    def _free_memory(self) -> None:
        """Free a quarter: examining all connections for each chunk of data would be too expensive under attack."""
        incomplete = [connection for connection in self._open if connection.memory]
        for connection in _select_to_close(len(incomplete) // 8 + 1, incomplete, lambda it: it.memory):
            if self._memory <= self._max_memory * 3 // 4:
                return
            connection.abort()
            self.remove(connection)


def _select_to_close(
    count: int, connections: Iterable[ClientConnection], cost: Callable[[ClientConnection], int]
) -> list[ClientConnection]:
    """Return incomplete before idle connections, then those of the most expensive address, then the oldest."""
    waiting = [connection for connection in connections if connection.is_waiting]
    costs: Counter[bytes] = Counter()
    for connection in waiting:
        costs[connection.peer] += cost(connection)
    slow_since = time.monotonic() - _SLOW_AFTER

    def close_priority(connection: ClientConnection) -> tuple[bool, int, float]:
        is_slow = connection.is_incomplete and connection.active_at < slow_since
        return (not is_slow, -costs[connection.peer], connection.active_at)

    return heapq.nsmallest(count, waiting, key=close_priority)


def raise_descriptor_limit() -> int:
    """Raise the soft limit as far as useful and allowed. Return the number of descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return min(allowed, _MAX_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
