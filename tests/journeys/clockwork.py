"""The service with a clock that a test moves: `waypost.app` as it is, but for the time.

Named to the parent of the processes in place of `waypost.app`. The time lies in a file that both sides have mapped.
"""

import mmap
import os
import socket
from asyncio import Event
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from waypost import app
from waypost.settings import Settings

FILE = "TEST_CLOCK"
"""The environment variable that names it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._nanoseconds = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")

    @classmethod
    def new(cls, path: Path, at: datetime) -> Self:
        path.write_bytes(bytes(8))
        clock = cls(path)
        clock.set(at)
        return clock

    def set(self, at: datetime) -> None:
        self._nanoseconds[0] = (at - _EPOCH) // timedelta(microseconds=1) * 1000

    def time_ns(self) -> int:
        return self._nanoseconds[0]

    def now(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self._nanoseconds[0] // 1000)


async def run_web(settings: Settings, *, role: str, sockets: list[socket.socket], stop: Event, welcome: int) -> None:
    os.close(welcome)
    clock = Clock(Path(os.environ[FILE]))
    await app.run_web(settings, role=role, sockets=sockets, stop=stop, clock=clock.now, time_ns=clock.time_ns)


run_worker = app.run_worker
