"""The time that a request may take."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from waypost.outbound.errors import Unreachable, reason_of

TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a response must arrive, so that a slow server does not use up the deadline."""

    first_byte: float
    """Seconds until the body begins."""
    rate: int
    """Bytes of the body per second, after that."""


class Limit:
    """The time of one request. With a pace, each byte that arrives extends it, up to the deadline."""

    def __init__(self, deadline: float, pace: Pace | None = None) -> None:
        self._deadline = deadline
        self._pace = pace
        self._timeout = asyncio.timeout(None)
        self._began = 0.0
        self._received = 0
        self.when_late = TIMED_OUT
        """The reason if time is up now."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """The context in which the request is sent and its response read. Raises Unreachable."""
        self._began = asyncio.get_running_loop().time()
        seconds = min(self._deadline, self._pace.first_byte) if self._pace else self._deadline
        self._timeout = asyncio.timeout_at(self._began + seconds)
        try:
            async with self._timeout:
                yield self
        except TimeoutError:
            raise Unreachable(self.when_late) from None
        except OSError as error:
            raise Unreachable(reason_of(error)) from error

    def received(self, size: int) -> None:
        if self._pace:
            self._received += size
            seconds = self._pace.first_byte + self._received / self._pace.rate
            self._timeout.reschedule(self._began + min(self._deadline, seconds))
