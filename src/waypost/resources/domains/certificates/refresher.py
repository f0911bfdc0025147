"""Keep a web process's certificates up to date with the database, within about a second."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from waypost.database import Database
from waypost.resources.domains.certificates.contexts import TlsContexts
from waypost.resources.domains.certificates.model import certificates
from waypost.resources.domains.certificates.store import is_served

_AT_ONCE = 1_000
_LATE = timedelta(seconds=60)
"""How much older a change may be than one seen before: transactions commit out of order, and clocks differ."""
_FULL_EVERY = 10
"""One of so many refreshes looks for late changes; the others only check whether anything is newer."""
_C = certificates.c
_NEWEST = select(func.max(_C.updated_at))
_FIELDS = (_C.id, _C.hostname, _C.chain, _C.key, _C.updated_at, is_served().label("is_served"))


class ContextRefresher:
    def __init__(self, db: Database, contexts: TlsContexts) -> None:
        self._db = db
        self._contexts = contexts
        self._newest: datetime | None = None
        self._seen: dict[str, datetime] = {}
        self._refreshes = 0
        self._last: datetime | None = None

    async def refresh(self) -> None:
        """Raises Unavailable."""
        if self._newest is None:
            await self._read_all()
        elif await self._has_changed():
            await self._read_changed(self._newest)

    async def _has_changed(self) -> bool:
        self._refreshes = (self._refreshes + 1) % _FULL_EVERY
        async with self._db.point_read() as tx:  # a single entry at the end of an index
            newest = (await tx.execute(_NEWEST)).scalar_one()
        is_newer, self._last = newest != self._last, newest
        return is_newer or self._refreshes == 0

    async def _read_changed(self, newest: datetime) -> None:
        changed = select(*_FIELDS).where(_C.updated_at > newest - _LATE).order_by(_C.updated_at, _C.id)
        async with self._db.read() as tx:
            rows = (await tx.execute(changed)).all()
        for row in rows:
            if self._seen.get(row.hostname) != row.updated_at:
                self._apply(row)
        self._seen = {row.hostname: row.updated_at for row in rows}
        self._newest = max([newest, *(row.updated_at for row in rows)])

    async def _read_all(self) -> None:
        newest, after = datetime(2000, 1, 1, tzinfo=UTC), None
        while True:
            page = select(*_FIELDS).order_by(_C.id).limit(_AT_ONCE)
            async with self._db.read() as tx:
                rows = (await tx.execute(page if after is None else page.where(_C.id > after))).all()
            for row in rows:
                self._apply(row)
            newest = max([newest, *(row.updated_at for row in rows)])
            if len(rows) < _AT_ONCE:
                break
            after = rows[-1].id
        self._newest = newest

    def _apply(self, row: Any) -> None:
        if row.chain is None or not row.is_served:
            self._contexts.drop(row.hostname)
        else:
            self._contexts.put(row.hostname, row.id, row.chain, row.key)
