"""Days with visits, found by few seeks."""

from collections.abc import Sequence

from sqlalchemy import insert

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.clicks.days import KnownDays, find_known_days
from waypost.resources.clicks.model import WHOLE_DAY, click_retention, click_totals

YEAR = range(20_000, 20_365)


async def of_visits_on(db: Database, days: Sequence[int]) -> KnownDays:
    rows = [{"day": day, "subject_id": new_id(), "quarter": WHOLE_DAY, "clicks": 1} for day in days]
    async with db.write() as tx:
        await tx.execute(insert(click_totals), rows)
    async with db.read() as tx:
        return await find_known_days(tx)


async def test_days_of_a_year_are_known(db: Database) -> None:
    found = await of_visits_on(db, YEAR)
    assert found.between(YEAR[5], YEAR[-5]) == list(YEAR)[5:-4]
    assert found.kept_since == 0


async def test_no_day_with_visits_is_left_out(db: Database) -> None:
    days = [0, 31, 32, 95, 96, *range(1_000, 3_000, 37), 47_481]
    found = await of_visits_on(db, days)
    assert set(days) <= set(found.days)
    assert found.days == sorted(set(found.days))


async def test_a_wrong_clock_adds_few_days(db: Database) -> None:
    found = await of_visits_on(db, [1, *YEAR, 47_000])
    assert len(found.days) < len(YEAR) + 100


async def test_no_known_day_in_between(db: Database) -> None:
    found = await of_visits_on(db, [1, 47_000])
    assert found.between(100, 40_000) == []


async def test_no_visits(db: Database) -> None:
    async with db.write() as tx:
        await tx.execute(insert(click_retention), {"id": 1, "kept_since": 7})
    async with db.read() as tx:
        assert await find_known_days(tx) == KnownDays([], 7)
