"""The rebuild as jobs, each of a few seconds: an upgrade leaves one, and each leaves another until all is counted.

Refuses to hold up the drain: what never rests is put off, at the latest until its day is over.
"""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.clicks.stats.counters import count_links
from waypost.resources.clicks.stats.owed import JOB
from waypost.resources.clicks.stats.pieces import FIRST_ACCOUNT, Piece, clear_strays, pieces, recount
from waypost.resources.clicks.stats.rebuild import days_to_count
from waypost.worker import jobs
from waypost.worker.model import Job

_SHIFT = 20.0  # seconds; a job is cut off after 50, and a piece of much work must end before
_REST = timedelta(minutes=10)  # between two looks at what never rests

Payload = dict[str, Any]
"""What is left to do: {} all; {"from_day": day, "after": account} what lies behind; {"again": [[day, account], …]} the
pieces that were put off, on their own or besides; {"counters": true} only the links' counters.
"""


class Rebuild:
    """The handler of `clicks.rebuild`."""

    def __init__(
        self, db: Database, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic, shift: float = _SHIFT
    ) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._shift = shift

    async def __call__(self, job: Job) -> None:
        ends_at = self._monotonic() + self._shift

        def is_over() -> bool:
            return self._monotonic() >= ends_at

        given: Payload = job.payload
        if "counters" in given:
            left = await self._count_links(is_over)
        elif "again" in given and "from_day" not in given:
            left = await self._try_again(given["again"], is_over)
        else:
            left = await self._count_days(given, is_over)
        if left:
            await self._go_on_later(left)

    async def _count_days(self, given: Payload, is_over: Callable[[], bool]) -> Payload:
        begin, after = given.get("from_day"), UUID(given.get("after", FIRST_ACCOUNT.hex))
        moving = list(given.get("again", ()))
        for day in await days_to_count(self._db, begin):
            await clear_strays(self._db, day)
            async for piece in pieces(self._db, day, after if day == begin else FIRST_ACCOUNT):
                if await recount(self._db, piece) == "moving":
                    moving.append(_written(piece))
                if is_over():
                    return {"from_day": day, "after": piece.account_id.hex} | ({"again": moving} if moving else {})
        return _next(moving)

    async def _try_again(self, again: Sequence[Sequence[Any]], is_over: Callable[[], bool]) -> Payload:
        moving: list[Sequence[Any]] = []
        for place, (day, account) in enumerate(again, 1):
            if await recount(self._db, Piece(day, UUID(account))) == "moving":
                moving.append((day, account))
            if is_over():
                return _next([*again[place:], *moving])
        return _next(moving)

    async def _count_links(self, is_over: Callable[[], bool]) -> Payload | None:
        _, is_all = await count_links(self._db, is_over)
        return None if is_all else {"counters": True}

    async def _go_on_later(self, left: Payload) -> None:
        now = self._clock()
        is_waiting = "again" in left and "from_day" not in left
        async with self._db.write() as tx:
            await jobs.enqueue(tx, JOB, left, now=now, run_at=now + _REST if is_waiting else now)


def _next(moving: Sequence[Sequence[Any]]) -> Payload:
    """Counters come last: they are set to what all days add up to."""
    return {"again": list(moving)} if moving else {"counters": True}


def _written(piece: Piece) -> tuple[int, str]:
    return piece.day, piece.account_id.hex
