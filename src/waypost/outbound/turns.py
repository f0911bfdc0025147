"""Waiting in line, one line per key: so many at once and no more."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass


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
    async def take(self, key: Hashable) -> AsyncIterator[None]:
        line = self._lines.setdefault(key, _Line(asyncio.Semaphore(self._at_once)))
        line.people += 1
        try:
            async with line.slots:
                yield
        finally:
            line.people -= 1
            if not line.people:
                del self._lines[key]
