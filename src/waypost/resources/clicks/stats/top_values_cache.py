"""Refreshes the cache of top values, for accounts and links with many clicks in a period of the dashboard.

A correction of statistics must not be overwritten by values that were read before it. So a refresh first marks its row
as its own attempt, a correction deletes the row, and a refresh writes only where its mark is.
"""

import contextlib
import json
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from waypost import auth
from waypost.database import Database, Tx
from waypost.kit.clock import DAY, EPOCH, Clock, microseconds
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.days import known_days
from waypost.resources.clicks.model import Subject, click_leaders
from waypost.resources.clicks.stats import aggregate, read, top_values
from waypost.resources.clicks.stats.top_values import CachedRun, CacheKey

_FIRST = UUID(int=0)

_L = click_leaders.c

StaleRun = tuple[UUID, CacheKey, CachedRun]
"""(account, where to cache it, what to sum up)"""


class TopValuesRefresher:
    """Runs hourly: by then a run with late clicks is refreshed."""

    def __init__(self, db: Database, *, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._after = _FIRST
        self._stale: deque[StaleRun] = deque()
        """Of one account. What an outage takes from here, the next round finds again."""

    async def step(self) -> bool:
        """Refreshes one run, or checks one account. False when all are checked."""
        if self._stale:
            await self._refresh(*self._stale.popleft())
            return True
        async with self._db.read() as tx:
            account = await auth.find_next_account_id(tx, self._after)
        if account is None:
            self._after = _FIRST
            return False
        self._after = account
        await self._check(account)
        return True

    async def _check(self, account: UUID) -> None:
        async with self._db.read() as tx:
            cached, due = await top_values.cached_runs(tx, account), await self._due(tx, account)
        if gone := cached.keys() - due.keys():
            async with self._db.write() as tx:
                await tx.execute(delete(click_leaders).where(tuple_(_L.subject_id, _L.period).in_(gone)))
        self._stale += [(account, key, run) for key, run in due.items() if cached.get(key) != run]

    async def _due(self, tx: Tx, account: UUID) -> dict[CacheKey, CachedRun]:
        if await links.count_clicks(tx, account) <= top_values.BUSY:
            return {}
        days, today = (await known_days(tx)).days, microseconds(self._clock()) // DAY
        due: dict[CacheKey, CachedRun] = {}
        for subject in (account, *await links.find_busy(tx, account, top_values.BUSY)):
            clicks = {day: each.clicks for day, each in (await read.totals_by_day(tx, subject, days)).items()}
            due |= {(subject, period): run for period, run in runs_to_cache(clicks, today).items()}
        return due

    async def _refresh(self, account: UUID, key: CacheKey, run: CachedRun) -> None:
        (subject_id, period), attempt = key, new_id()
        subject = Subject(subject_id, is_account=subject_id == account)
        with contextlib.suppress(IntegrityError):  # the account has just been deleted
            async with self._db.write() as tx:
                await _begin(tx, account, key, run, attempt)
        async with self._db.read() as tx:
            days = [day for day in (await known_days(tx)).days if run.has(day)]
            by_day = await read.totals_by_day(tx, subject_id, days)
            ranked = await top_values.ranked(tx, subject, list(by_day), (), top_values.CACHED)
        row = {
            "first_day": run.first_day,
            "last_day": run.last_day,
            "clicks": sum(each.clicks for each in by_day.values()),
            "leaders": json.dumps(ranked, ensure_ascii=False),
        }
        is_ours = _L.subject_id == subject_id, _L.period == period, _L.attempt == attempt
        async with self._db.write() as tx:
            await tx.execute(update(click_leaders).where(*is_ours).values(row))


def runs_to_cache(clicks: Mapping[int, int], today: int) -> dict[str, CachedRun]:
    """By period: runs with many clicks, each with more than the one before. `clicks`: by day, in order."""
    runs: dict[str, CachedRun] = {}
    most, past = top_values.BUSY, [day for day in list(clicks)[1:] if day < today]
    for period, start in _starts(today).items():
        days = [day for day in past if day >= start]
        count = sum(clicks[day] for day in days)
        if count > most:
            runs[period], most = CachedRun(days[0], days[-1], count), count
    return runs


def _starts(today: int) -> dict[str, int]:
    """A day later than the period itself: west of UTC, its first day begins within a UTC day.

    All time, too, begins a day later than the first click.
    """
    date = (EPOCH + timedelta(days=today)).date()
    month = (date.replace(year=date.year - 1, day=1) + timedelta(days=31)).replace(day=1)
    year = (month - EPOCH.date()).days
    return {"7d": today - 5, "30d": today - 28, "90d": today - 88, "12m": year + 1, "all": 0}


async def _begin(tx: Tx, account: UUID, key: CacheKey, run: CachedRun, attempt: UUID) -> None:
    """Marks the row. What it holds stays in use until there is something new."""
    await aggregate.lock(tx)  # or a correction that is under way would not see the row, and leave it
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    row = {"subject_id": key[0], "period": key[1], "account_id": account, "attempt": attempt}
    empty = {"first_day": run.first_day, "last_day": run.last_day, "clicks": 0, "leaders": "{}"}
    mark = insert(click_leaders).values(row | empty)
    await tx.execute(mark.on_conflict_do_update(index_elements=[_L.subject_id, _L.period], set_={"attempt": attempt}))
