"""Refreshes the cache of top values, for accounts and links with many clicks in a dashboard's time range.

A correction of statistics must not be overwritten by values that were read before it. So a refresh first sets the
attempt of its row, a correction deletes the row, and a refresh writes only if the row still has its attempt.
"""

import contextlib
import json
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, tuple_, update
from sqlalchemy.exc import IntegrityError

from waypost import accounts
from waypost.database import Database, Tx, upsert
from waypost.kit.clock import EPOCH, Clock
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.backends.sql import sums, top_values
from waypost.resources.clicks.backends.sql.read import totals_by_day
from waypost.resources.clicks.backends.sql.top_values import CachedDays, CacheKey
from waypost.resources.clicks.days import day_of, find_known_days
from waypost.resources.clicks.model import Subject, top_values_cache

_FIRST = UUID(int=0)

_cache = top_values_cache.c

StaleCacheEntry = tuple[UUID, CacheKey, CachedDays]
"""(account, where to cache it, the days to sum up)"""


class StatsCacheRefresher:
    """Runs hourly: by then days with late clicks are refreshed."""

    def __init__(self, db: Database, *, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._after = _FIRST
        self._stale: deque[StaleCacheEntry] = deque()
        """Entries of one account. Those lost in an outage are found again in the next hour."""

    async def step(self) -> bool:
        """Refresh one entry, or check one account. Return False when all are checked."""
        if self._stale:
            await self._refresh(*self._stale.popleft())
            return True
        async with self._db.read() as tx:
            account = await accounts.find_next_account_id(tx, self._after)
        if account is None:
            self._after = _FIRST
            return False
        self._after = account
        await self._check(account)
        return True

    async def _check(self, account: UUID) -> None:
        today = day_of(self._clock())
        async with self._db.read() as tx:
            cached = await top_values.find_cached_days(tx, account)
            due: dict[CacheKey, CachedDays] = {}
            known_days = (await find_known_days(tx)).days
            for subject in await _find_busy(tx, account):
                totals = await totals_by_day(tx, subject, known_days)
                to_cache = choose_days_to_cache({day: total.clicks for day, total in totals.items()}, today)
                due |= {(subject, time_range): days for time_range, days in to_cache.items()}
        if obsolete := cached.keys() - due.keys():
            async with self._db.write() as tx:
                key = tuple_(_cache.subject_id, _cache.time_range)
                await tx.execute(delete(top_values_cache).where(key.in_(obsolete)))
        self._stale += [(account, key, days) for key, days in due.items() if cached.get(key) != days]

    async def _refresh(self, account: UUID, key: CacheKey, to_cache: CachedDays) -> None:
        (subject_id, time_range), attempt = key, new_id()
        subject = Subject(account, None if subject_id == account else subject_id)
        with contextlib.suppress(IntegrityError):  # the account has just been deleted
            async with self._db.write() as tx:
                await _begin_attempt(tx, account, key, to_cache, attempt)
        async with self._db.read() as tx:
            days = [day for day in (await find_known_days(tx)).days if to_cache.has(day)]
            totals = await totals_by_day(tx, subject_id, days)
            ranked = await top_values.rank_values(tx, subject, list(totals), (), top_values.CACHED_COUNT)
        row = {
            "first_day": to_cache.first_day,
            "last_day": to_cache.last_day,
            "clicks": sum(total.clicks for total in totals.values()),
            "top_values": json.dumps(ranked, ensure_ascii=False),
        }
        statement = update(top_values_cache).where(_cache.subject_id == subject_id, _cache.time_range == time_range)
        async with self._db.write() as tx:
            await tx.execute(statement.where(_cache.attempt == attempt).values(row))


async def _find_busy(tx: Tx, account: UUID) -> list[UUID]:
    """Return the account and its links, if they have many clicks."""
    if await links.count_clicks(tx, account) <= top_values.CACHE_THRESHOLD:
        return []
    return [account, *await links.find_busy(tx, account, top_values.CACHE_THRESHOLD)]


def choose_days_to_cache(clicks: Mapping[int, int], today: int) -> dict[str, CachedDays]:
    """Return days with many clicks by time range, each with more clicks than the one before.

    `clicks`: by day, in order.
    """
    chosen: dict[str, CachedDays] = {}
    most, past = top_values.CACHE_THRESHOLD, [day for day in list(clicks)[1:] if day < today]
    for time_range, start in _first_days(today).items():
        days = [day for day in past if day >= start]
        count = sum(clicks[day] for day in days)
        if count > most:
            chosen[time_range], most = CachedDays(days[0], days[-1], count), count
    return chosen


def _first_days(today: int) -> dict[str, int]:
    """Return the first day of each time range, a day late: west of UTC, the range begins within a UTC day.

    All time, too, begins a day after the first click.
    """
    date = (EPOCH + timedelta(days=today)).date()
    month = (date.replace(year=date.year - 1, day=1) + timedelta(days=31)).replace(day=1)
    year = (month - EPOCH.date()).days
    return {"7d": today - 5, "30d": today - 28, "90d": today - 88, "12m": year + 1, "all": 0}


async def _begin_attempt(tx: Tx, account: UUID, key: CacheKey, days: CachedDays, attempt: UUID) -> None:
    """Set the row's attempt. Its values stay in use until there are new ones."""
    await sums.lock(tx)  # or a concurrent correction would not see the row, and not delete it
    row = {"subject_id": key[0], "time_range": key[1], "account_id": account, "attempt": attempt}
    empty = {"first_day": days.first_day, "last_day": days.last_day, "clicks": 0, "top_values": "{}"}
    statement = upsert(tx, top_values_cache).values(row | empty)
    await tx.execute(
        statement.on_conflict_do_update(
            index_elements=[_cache.subject_id, _cache.time_range], set_={"attempt": attempt}
        )
    )
