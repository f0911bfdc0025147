"""Rebuilds statistics from click rows while the service runs: corrects what differs, and leaves the rest alone."""

from collections.abc import Callable
from dataclasses import dataclass

from waypost.database import Database
from waypost.resources.clicks.days import days_of, kept_since
from waypost.resources.clicks.model import click_dimensions, click_totals, clicks, visitor_days
from waypost.resources.clicks.stats.rebuild.account_days import (
    AccountDay,
    account_days,
    delete_orphans,
    recount,
    recount_in_one_transaction,
)
from waypost.resources.clicks.stats.rebuild.link_counters import count_links


@dataclass(slots=True)
class RebuildResult:
    days: int = 0
    account_days: int = 0
    corrected: int = 0
    """Of the account days, and days with orphans."""
    links: int = 0
    """Whose counters were set."""


async def rebuild(
    db: Database, *, from_day: int | None = None, on_progress: Callable[[int, int], None] | None = None
) -> RebuildResult:
    """`on_progress` gets the number of days done and of all days."""
    result = RebuildResult()
    changing: list[AccountDay] = []
    days = await _days(db, from_day)
    for day in days:
        if on_progress:
            on_progress(result.days, len(days))
        result.corrected += await delete_orphans(db, day)
        async for each in account_days(db, day):
            result.account_days += 1
            outcome = await recount(db, each)
            result.corrected += outcome != "correct"
            changing += [each] if outcome == "changing" else []
        result.days += 1
    for each in changing:
        if await recount(db, each) == "changing":
            await recount_in_one_transaction(db, each)
    if on_progress:
        on_progress(result.days, len(days))
    result.links = await count_links(db)
    return result


async def _days(db: Database, from_day: int | None) -> list[int]:
    """Days with clicks or statistics, except those whose clicks retention has removed."""
    async with db.read() as tx:
        first = max(from_day or 0, await kept_since(tx))
        found: set[int] = set()
        for table in (clicks, click_totals, click_dimensions, visitor_days):
            found |= {*await days_of(tx, table)}
    return sorted(day for day in found if day >= first)
