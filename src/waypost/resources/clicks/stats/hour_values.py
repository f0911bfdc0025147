"""Keeps the values of hours in a cache, for busy days on which a time range of the dashboard begins.

That is yesterday and today for the last 24 hours, and for longer ranges the days on which they begin, which depends on
the time zone. `partial_days` reads the cache.
"""

import contextlib
import json
from collections.abc import Collection, Iterator
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.exc import IntegrityError

from waypost.database import Database, Tx, upsert
from waypost.kit.clock import DAY
from waypost.resources.clicks.backends.sql.partial_days import count_values
from waypost.resources.clicks.days import HOUR, TOTAL_BUCKET, DaySlice, SignedSlice, in_values
from waypost.resources.clicks.model import WHOLE_DAY, Subject, click_totals, hour_values_cache

_MIN_CLICKS_OF_DAY = 5_000
"""Half a day with fewer is counted from its clicks in a few milliseconds."""
_MAX_VALUES = 10_000
"""Of a list in an hour. Visitors can invent any number of referrers."""
_MAX_LENGTH = 262_144
"""Characters of all values of an hour. A web process decodes up to 24 hours for a request, and visits wait for each."""
_QUARTERS = 4

_cache, _totals = hour_values_cache.c, click_totals.c


class HourKey(NamedTuple):
    subject_id: UUID
    day: int
    hour: int


def choose_days(first_days: Collection[int], today: int) -> list[int]:
    """Return the days on which time ranges begin. `first_days`: the first of each that are whole in all time zones."""
    return sorted({today, today - 1, *(day - days for day in first_days for days in (1, 2))})


async def find_due_hours(tx: Tx, subject_id: UUID, days: Collection[int], now: int) -> dict[HourKey, int]:
    """Return the clicks of the hours of busy days that are over. `now`: microseconds since 1970."""
    of_subject = _totals.subject_id == subject_id, in_values(tx, _totals.day, days)
    busy = select(_totals.day).where(*of_subject, _totals.quarter == WHOLE_DAY, _totals.clicks >= _MIN_CLICKS_OF_DAY)
    hour = _totals.quarter.op("/")(_QUARTERS)  # whole numbers, whose quotient both databases truncate
    query = (
        select(_totals.day, hour, func.sum(_totals.clicks))
        .where(_totals.subject_id == subject_id, _totals.day.in_(busy), _totals.quarter != WHOLE_DAY)
        .group_by(_totals.day, hour)
    )
    return {
        HourKey(subject_id, day, hour): int(clicks)
        for day, hour, clicks in await tx.execute(query)
        if clicks and day * DAY + (hour + 1) * HOUR <= now
    }


async def find_cached_hours(tx: Tx, account_id: UUID) -> dict[HourKey, int]:
    """Return the clicks of each hour when it was counted."""
    query = select(_cache.subject_id, _cache.day, _cache.hour, _cache.clicks).where(_cache.account_id == account_id)
    return {HourKey(*row[:3]): row.clicks for row in await tx.execute(query)}


async def delete_hours(db: Database, keys: Collection[HourKey]) -> None:
    async with db.write() as tx:
        for some in _batches(list(keys)):
            await tx.execute(
                delete(hour_values_cache).where(tuple_(_cache.subject_id, _cache.day, _cache.hour).in_(some))
            )


async def cache_hour(db: Database, account_id: UUID, key: HourKey) -> None:
    """Count the values of an hour, and cache them unless they are too many.

    A correction of statistics does not change them: they are those of the clicks.
    """
    subject = Subject(account_id, None if key.subject_id == account_id else key.subject_id)
    begin = key.day * DAY + key.hour * HOUR
    async with db.read() as tx:
        hour = DaySlice(TOTAL_BUCKET, key.day, begin, begin + HOUR)
        counts = await count_values(tx, subject, [SignedSlice(1, hour)], _MAX_VALUES)
    if any(len(values) >= _MAX_VALUES for values in counts.values()):
        return
    value_counts = json.dumps({name: values for name, values in counts.items() if values}, ensure_ascii=False)
    if len(value_counts) > _MAX_LENGTH:
        return
    row = {"account_id": account_id, "clicks": sum(counts["country"].values()), "value_counts": value_counts}
    statement = upsert(tx, hour_values_cache).values({**key._asdict(), **row})
    with contextlib.suppress(IntegrityError):  # the account has just been deleted
        async with db.write() as tx:
            await tx.execute(statement.on_conflict_do_update(index_elements=[*hour_values_cache.primary_key], set_=row))


def _batches(keys: list[HourKey]) -> Iterator[list[HourKey]]:
    for start in range(0, len(keys), 500):
        yield keys[start : start + 500]
