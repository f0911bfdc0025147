"""All visits that are due, at once, for the command."""

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
    visits, hour, is_more_due = LinkVisits(context, checker, days, pace=pace), Hour(), True
    if all_links:
        async with context.db.write() as tx:
            await store.make_due(tx, context.clock())
    while is_more_due:
        async with context.db.write() as tx:
            now = context.clock()
            await jobs.enqueue(tx, CHECK_JOB, {}, now=now, run_at=now + _PAUSE, id_=JOB_ID)
        is_more_due = await visits.turn(hour)
    await visits.settle(hour)
    async with context.db.read() as tx:
        return await store.count_by_status(tx)
