"""Takes away the rows of clicks that are older than the operator wants to keep; what was added up from them stays.

Refuses to hold anybody up: from the moment a day is over its time nothing shows its rows, and they go in small groups.
Refuses to believe a clock at once.
"""

import math
import time
from collections.abc import Callable

from sqlalchemy import bindparam, delete, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Database, Tx
from waypost.kit.clock import EPOCH, Clock
from waypost.resources.clicks.days import kept_since
from waypost.resources.clicks.model import click_retention, clicks, visitor_days
from waypost.resources.clicks.stats.aggregate import rollups

_EVERY = 3600.0  # seconds
_AT_ONCE = 2_000  # rows; some 20 ms

_older = {
    table: select(*table.primary_key)
    .where(table.c.day < bindparam("kept_since"))
    .order_by(table.c.day)
    .limit(bindparam("at_once"))
    for table in (clicks, visitor_days)
}
_DELETIONS = [delete(table).where(tuple_(*table.primary_key).in_(rows)) for table, rows in _older.items()]


class Retention:
    """A poller. `days`: how many whole days are kept besides today; None keeps all, and finishes what was begun."""

    def __init__(
        self,
        db: Database,
        days: int | None,
        *,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
        at_once: int = _AT_ONCE,
    ) -> None:
        self._db = db
        self._days = days
        self._clock = clock
        self._monotonic = monotonic
        self._at_once = at_once
        self._next = -math.inf
        self._kept_since: int | None = None  # while rows of earlier days are being deleted
        self._wanted: int | None = None  # the boundary, by the clock of the look before

    async def step(self) -> bool:
        """Deletes one group of rows. False when there was none, or it is not time yet."""
        if self._kept_since is None:
            if self._monotonic() < self._next:
                return False
            self._kept_since = await self._begin()
        if await self._delete(self._kept_since):
            return True
        self._kept_since = None
        self._next = self._monotonic() + _EVERY
        return False

    async def _begin(self) -> int:
        """From here on no list, figure or rebuild looks at the rows of earlier days."""
        day = self._believed()
        if day is not None:
            async with self._db.write() as tx:
                await rollups.lock(tx)  # a rebuild has either written its day, or will find that it must not
                await _raise(tx, day)
        async with self._db.read() as tx:
            return await kept_since(tx)

    def _believed(self) -> int | None:
        """The first day that is kept, if the clock said nearly so an hour ago: what is taken does not come back."""
        if self._days is None:
            return None
        before, self._wanted = self._wanted, (self._clock() - EPOCH).days - self._days
        return None if before is None else min(self._wanted, before + 1)

    async def _delete(self, day: int) -> bool:
        async with self._db.read() as tx:  # mostly there is nothing to do, and looking takes no write lock
            if not [1 for rows in _older.values() if (await tx.execute(rows, _given(day, 1))).first()]:
                return False
        async with self._db.write() as tx:
            await rollups.lock(tx)  # or writers could wait for each other in a circle
            for deletion in _DELETIONS:
                await tx.execute(deletion, _given(day, self._at_once))
        return True


async def _raise(tx: Tx, day: int) -> None:
    """Never back: of the days before, rows are gone."""
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    statement = insert(click_retention).values(id=1, kept_since=day)
    is_later = statement.excluded.kept_since > click_retention.c.kept_since
    await tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"kept_since": day}, where=is_later))


def _given(day: int, at_once: int) -> dict[str, int]:
    return {"kept_since": day, "at_once": at_once}
