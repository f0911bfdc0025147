"""Keeps the leaders of the runs that periods of the dashboard mostly consist of, for whoever has many clicks in them.

Refuses to keep what a correction of figures comes across: before clicks are added up, a run's row says who does it;
whoever corrects takes the row away; and leaders are written to no other.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from waypost.accounts import accounts
from waypost.database import Database, Tx
from waypost.kit.clock import DAY, EPOCH, Clock, microseconds
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.days import known
from waypost.resources.clicks.model import click_leaders
from waypost.resources.clicks.stats import leaders, store, values
from waypost.resources.clicks.stats.leaders import Place, Run
from waypost.resources.clicks.subject import Subject

_EVERY = 3600.0  # seconds: a run that clicks came late for is found by then
_FIRST = UUID(int=0)

_L = click_leaders.c


class RunKeeper:
    """A poller."""

    def __init__(self, db: Database, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._next = -math.inf
        self._after = _FIRST

    async def step(self) -> bool:
        """Looks after one account. False when all had their turn, or it is not time yet."""
        if self._monotonic() < self._next:
            return False
        following = select(accounts.c.id).where(accounts.c.id > self._after).order_by(accounts.c.id).limit(1)
        async with self._db.read() as tx:
            account = await tx.scalar(following)
        if account is None:
            self._after, self._next = _FIRST, self._monotonic() + _EVERY
            return False
        self._after = account
        await self._look_after(account)
        return True

    async def _look_after(self, account: UUID) -> None:
        async with self._db.read() as tx:
            kept = await leaders.kept(tx, account)
            busy = map(Subject, await links.busy(tx, account, leaders.BUSY))
        wanted: dict[Place, Run] = {}
        today = microseconds(self._clock()) // DAY
        for subject in (Subject(account, is_account=True), *busy):
            async with self._db.read() as tx:
                found = runs(await _clicks(tx, subject), today)
            wanted |= {(subject.id, period): run for period, run in found.items()}
        for place in kept.keys() - wanted.keys():
            async with self._db.write() as tx:
                await tx.execute(delete(click_leaders).where(*_is(place)))
        for place, run in wanted.items():
            if kept.get(place) != run:
                await self._keep(account, place, run)

    async def _keep(self, account: UUID, place: Place, run: Run) -> None:
        subject, making = Subject(place[0], is_account=place[0] == account), new_id()
        async with self._db.write() as tx:
            await _begin(tx, account, place, run, making)
        async with self._db.read() as tx:
            of_days = await _clicks(tx, subject)
            days = [day for day in of_days if run.has(day)]
            found = await values.ranked(tx, subject, days, (), leaders.LEADERS)
        now_there = {"first_day": run.first, "last_day": run.last, "clicks": sum(of_days[day] for day in days)}
        kept = update(click_leaders).where(*_is(place), _L.making == making)
        async with self._db.write() as tx:
            await tx.execute(kept.values(leaders=json.dumps(found, ensure_ascii=False), **now_there))


def runs(clicks: Mapping[int, int], today: int) -> dict[str, Run]:
    """By period, those with many clicks, and each with more than the one before. `clicks`: by day, in order."""
    found: dict[str, Run] = {}
    most = leaders.BUSY
    for period, start in _starts(today).items():
        days = [day for day in list(clicks)[1:] if start <= day < today]
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


async def _clicks(tx: Tx, subject: Subject) -> dict[int, int]:
    """By day."""
    of_days = await store.of_days(tx, subject.id, (await known(tx)).days)
    return {day: figures.clicks for day, figures in of_days.items()}


async def _begin(tx: Tx, account: UUID, place: Place, run: Run, making: UUID) -> None:
    """What is there already is told until there is something new."""
    put = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    row = {"account_id": account, "subject_id": place[0], "period": place[1], "making": making}
    nothing = {"first_day": run.first, "last_day": run.last, "clicks": 0, "leaders": "{}"}
    key = [_L.subject_id, _L.period]
    await tx.execute(
        put(click_leaders).values(row | nothing).on_conflict_do_update(index_elements=key, set_={"making": making})
    )


def _is(place: Place) -> tuple[ColumnElement[bool], ...]:
    return _L.subject_id == place[0], _L.period == place[1]
