"""Connections that are opened when they are needed, and kept."""

import contextlib
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Generic, TypeVar

from waypost.database.failures import translate_errors
from waypost.database.transaction import PooledConnection
from waypost.kit.fair_queue import FairQueue
from waypost.metrics import Gauge

_MAX_WAITING = 10_000

_C = TypeVar("_C", bound=PooledConnection)


class Pool(Generic[_C]):
    """For one event loop."""

    def __init__(
        self, url: str, new: Callable[[], _C], *, size: int, timeout: float = 30, per_key: int | None = None
    ) -> None:
        """`timeout`: seconds that a caller waits for a connection; `per_key`: how many of them one key can have."""
        self._url = url
        self._new = new
        self._size = size
        self._idle: list[_C] = []
        self._slots = FairQueue(
            size, per_key=per_key or size, max_waiting=_MAX_WAITING, max_waiting_per_key=_MAX_WAITING, timeout=timeout
        )

    @contextlib.asynccontextmanager
    async def connection(self, key: Hashable = "") -> AsyncIterator[_C]:
        """Raises Unavailable when none becomes free, and for what the drivers raise in the block."""
        async with translate_errors(self._url, None), self._slots.slot(key):
            connection = await self._take()
            try:
                yield connection
            finally:
                if connection.is_usable:
                    self._idle.append(connection)
                else:
                    await connection.close()

    async def _take(self) -> _C:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            await connection.close()
        connection = self._new()
        await connection.open()
        return connection

    async def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            await self._idle.pop().close()

    def gauges(self, name: str, waiting: int = 0) -> list[Gauge]:
        """`waiting`: callers that wait for something else than a connection of the pool."""
        labels, waiting = {"pool": name}, waiting + self._slots.waiting
        return [
            Gauge("waypost_database_connections_max", "Connections that a pool can open.", self._size, labels),
            Gauge("waypost_database_connections_in_use", "Connections of a pool in use.", self._slots.running, labels),
            Gauge(
                "waypost_database_waiting", "Callers that wait for a connection or for the write lock.", waiting, labels
            ),
        ]
