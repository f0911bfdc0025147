"""Keeps the leaders of the runs that periods of the dashboard mostly consist of, for whoever has many clicks in them.

Refuses to keep what a correction of figures comes across: before clicks are added up, a run's row says who does it;
whoever corrects takes the row away; and leaders are written to no other.
"""

import contextlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
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
from waypost.resources.clicks.days import known
from waypost.resources.clicks.model import click_leaders
from waypost.resources.clicks.stats.aggregate import rollups
from waypost.resources.clicks.stats.read import top_values, totals, values
from waypost.resources.clicks.stats.read.top_values import Place, Run
from waypost.resources.clicks.subject import Subject

_EVERY = 3600.0  # seconds: a run that clicks came late for is found by then
_FIRST = UUID(int=0)

_L = click_leaders.c

Missing = tuple[UUID, Place, Run]
"""(account, where it is to be kept, what is to be added up)"""


class RunKeeper:
    """A poller."""

    def __init__(self, db: Database, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._next = -math.inf
        self._after = _FIRST
        self._missing: deque[Missing] = deque()
        """Of one account. What an outage takes from here is found again by the next look."""

    async def step(self) -> bool:
        """Adds up one run, or looks at one account. False when all had their turn, or it is not time yet."""
        if self._missing:
            await self._keep(self._missing.popleft())
            return True
        if self._monotonic() < self._next:
            return False
        async with self._db.read() as tx:
            account = await auth.account_id_after(tx, self._after)
        if account is None:
            self._after, self._next = _FIRST, self._monotonic() + _EVERY
            return False
        self._after = account
        await self._look_after(account)
        return True

    async def _look_after(self, account: UUID) -> None:
        async with self._db.read() as tx:
            kept = await top_values.kept(tx, account)
            wanted = await self._wanted(tx, account)
        gone = kept.keys() - wanted.keys()
        if gone:
            async with self._db.write() as tx:
                await tx.execute(delete(click_leaders).where(tuple_(_L.subject_id, _L.period).in_(gone)))
        self._missing += [(account, place, run) for place, run in wanted.items() if kept.get(place) != run]

    async def _wanted(self, tx: Tx, account: UUID) -> dict[Place, Run]:
        if await links.count_clicks(tx, account) <= top_values.BUSY:
            return {}
        days, today = (await known(tx)).days, microseconds(self._clock()) // DAY
        found: dict[Place, Run] = {}
        for subject in (account, *await links.find_busy(tx, account, top_values.BUSY)):
            found |= {(subject, period): run for period, run in runs(await _clicks(tx, subject, days), today).items()}
        return found

    async def _keep(self, missing: Missing) -> None:
        account, place, run = missing
        subject, attempt = Subject(place[0], is_account=place[0] == account), new_id()
        with contextlib.suppress(IntegrityError):  # the account has just been closed
            async with self._db.write() as tx:
                await _begin(tx, missing, attempt)
        async with self._db.read() as tx:
            clicks = await _clicks(tx, subject.id, [day for day in (await known(tx)).days if run.has(day)])
            found = await values.ranked(tx, subject, list(clicks), (), top_values.LEADERS)
        now_there = {"first_day": run.first, "last_day": run.last, "clicks": sum(clicks.values())}
        its = _L.subject_id == place[0], _L.period == place[1], _L.attempt == attempt
        async with self._db.write() as tx:
            told = json.dumps(found, ensure_ascii=False)
            await tx.execute(update(click_leaders).where(*its).values(leaders=told, **now_there))


def runs(clicks: Mapping[int, int], today: int) -> dict[str, Run]:
    """By period, those with many clicks, and each with more than the one before. `clicks`: by day, in order."""
    found: dict[str, Run] = {}
    most, over = top_values.BUSY, [day for day in list(clicks)[1:] if day < today]
    for period, start in _starts(today).items():
        days = [day for day in over if day >= start]
        count = sum(clicks[day] for day in days)
        if count > most:
            found[period], most = Run(days[0], days[-1], count), count
    return found


def _starts(today: int) -> dict[str, int]:
    """A day later than the period's own: west of UTC, its first day begins when that of UTC is no longer whole.

    So does all time, with the day of the first click.
    """
    date = (EPOCH + timedelta(days=today)).date()
    month = (date.replace(year=date.year - 1, day=1) + timedelta(days=31)).replace(day=1)
    year = (month - EPOCH.date()).days
    return {"7d": today - 5, "30d": today - 28, "90d": today - 88, "12m": year + 1, "all": 0}


async def _clicks(tx: Tx, subject_id: UUID, days: Sequence[int]) -> dict[int, int]:
    """By day."""
    return {day: figures.clicks for day, figures in (await totals.of_days(tx, subject_id, days)).items()}


async def _begin(tx: Tx, missing: Missing, attempt: UUID) -> None:
    """What is there already is told until there is something new."""
    account, (subject, period), run = missing
    await rollups.lock(tx)  # or a correction that is under way would not see the row, and leave it
    put = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    row = {"account_id": account, "subject_id": subject, "period": period, "attempt": attempt}
    nothing = {"first_day": run.first, "last_day": run.last, "clicks": 0, "leaders": "{}"}
    key = [_L.subject_id, _L.period]
    await tx.execute(
        put(click_leaders).values(row | nothing).on_conflict_do_update(index_elements=key, set_={"attempt": attempt})
    )
