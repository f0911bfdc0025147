"""Deletes entries of the audit log that are older than the retention period, in small batches."""

from datetime import datetime, timedelta
from uuid import UUID

from waypost.audit import store
from waypost.database import Database
from waypost.kit.clock import Clock

_BATCH_SIZE = 1_000
_NO_ACCOUNT = UUID(int=0)
_LARGEST_STEP = timedelta(days=1)


class AuditRetention:
    """Runs hourly, through all accounts: an index that orders the entries of all of them would cost each write."""

    def __init__(self, db: Database, days: int, *, clock: Clock) -> None:
        self._db = db
        self._period = timedelta(days=days)
        self._clock = clock
        self._account = _NO_ACCOUNT
        """Those up to this one are done."""
        self._boundary: datetime | None = None  # during a pass
        self._previous: datetime | None = None  # the boundary by the clock of the last pass

    async def step(self) -> bool:
        """Delete a batch of one account, or go on to the next account. Return False after the last one."""
        if self._boundary is None:
            self._boundary = self._next_boundary()
        async with self._db.read() as tx:
            found = await store.find_oldest_after(tx, self._account) if self._boundary else None
        if found is None or self._boundary is None:
            self._account, self._boundary = _NO_ACCOUNT, None
            return False
        account, oldest = found
        if oldest >= self._boundary or not await self._delete(account, self._boundary):
            self._account = account
        return True

    async def _delete(self, account: UUID, before: datetime) -> bool:
        """Return whether more may be left."""
        async with self._db.write() as tx:
            return await store.delete_some(tx, account, _BATCH_SIZE, before=before) == _BATCH_SIZE

    def _next_boundary(self) -> datetime | None:
        """Move it by at most a day an hour: a wrong clock must not delete the log."""
        before, self._previous = self._previous, self._clock() - self._period
        return None if before is None else min(self._previous, before + _LARGEST_STEP)
