"""All visits that are due, at once, for the command."""

from dataclasses import asdict
from datetime import timedelta

from waypost.context import Context
from waypost.outbound import DestinationChecker, HostPace
from waypost.resources.links.health import store
from waypost.resources.links.health.schedule import CHECK_JOB, JOB_ID, HealthSchedule
from waypost.resources.links.health.visits import Hour, LinkVisits
from waypost.worker import jobs

_PAUSE = timedelta(minutes=5)


async def check(
    context: Context, checker: DestinationChecker, days: int, *, all_links: bool, pace: HostPace | None = None
) -> dict[str, int]:
    """Visit what is due, or all links. Return how many links have each status. The worker waits for it."""
    schedule = HealthSchedule(context.db, days, context.clock)
    while await schedule.add_next():
        pass
    visits = LinkVisits(context, checker, days, pace=pace)
    hour = await _hold(context)
    is_more_due = True
    if all_links:
        async with context.db.write() as tx:
            await store.make_due(tx, context.clock())
    while is_more_due:
        is_more_due = await visits.turn(hour)
        await _hold(context)
    await visits.settle(hour)
    async with context.db.write() as tx:
        await jobs.release(tx, JOB_ID, asdict(hour), now=context.clock())
        return await store.count_by_status(tx)


async def _hold(context: Context) -> Hour:
    """Keep the worker from the job, and return the visits of this hour that it has counted."""
    async with context.db.write() as tx:
        now = context.clock()
        return Hour(**await jobs.hold(tx, CHECK_JOB, JOB_ID, now=now, until=now + _PAUSE))
