"""Waiting in line, one line per key: so many at once and no more. Who has waited long enough is sent away."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from waypost.kit.errors import Unavailable


class Allowance:
    """Seconds that may be spent in pieces."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @asynccontextmanager
    async def spend(self) -> AsyncIterator[None]:
        """Raises TimeoutError when nothing is left."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left):
                yield
        finally:
            self._left -= loop.time() - began


@dataclass(slots=True)
class _Line:
    slots: asyncio.Semaphore
    people: int = 0
    """Those inside and those waiting; the last one takes the line away."""


class Turns:
    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._lines: dict[Hashable, _Line] = {}

    @asynccontextmanager
    async def take(self, key: Hashable, patience: Allowance) -> AsyncIterator[None]:
        """Raises Unavailable when the patience ends before the waiting."""
        line = self._lines.setdefault(key, _Line(asyncio.Semaphore(self._at_once)))
        line.people += 1
        try:
            await _reach(line.slots, patience)
            try:
                yield
            finally:
                line.slots.release()
        finally:
            line.people -= 1
            if not line.people:
                del self._lines[key]


async def _reach(slots: asyncio.Semaphore, patience: Allowance) -> None:
    try:
        async with patience.spend():
            await slots.acquire()
    except TimeoutError:
        raise Unavailable("Too many addresses are waiting to be looked at. Try again in a moment.") from None
