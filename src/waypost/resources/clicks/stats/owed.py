"""Clicks that are not added up yet: an upgrade leaves them to a job, and until it is through their rows must stay.

Until then links' counters know more than the figures do.
"""

from typing import Literal

from sqlalchemy import delete, func, select

from waypost.database import Tx
from waypost.worker.model import jobs

JOB = "clicks.rebuild"

State = Literal["nothing", "waiting", "failed"]


async def owed(tx: Tx) -> State:
    """`failed`: no job will try again, somebody has to."""
    of_job = select(func.count(), func.count(jobs.c.failed_at)).where(jobs.c.name == JOB)
    count, failed = (await tx.execute(of_job)).one()
    if not count:
        return "nothing"
    return "failed" if failed == count else "waiting"


async def settle(tx: Tx) -> None:
    """All has been counted in another way. A job that runs just now ends without finding its row."""
    await tx.execute(delete(jobs).where(jobs.c.name == JOB))
