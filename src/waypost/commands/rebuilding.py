"""`waypost stats rebuild`: figures counted anew from click rows, while the service runs."""

from datetime import datetime

from waypost.commands.progress import progress
from waypost.database import Database
from waypost.kit.clock import EPOCH
from waypost.resources.clicks.stats.rebuild.service import rebuild


async def rebuilt(db: Database, start: datetime | None) -> str:
    """Says what was done; a day is taken whole, whenever in it `start` is."""
    with progress("Counting days") as told:
        done = await rebuild(db, from_day=(start - EPOCH).days if start else None, told=told)
    if not (done.corrected or done.links):
        return f"{done.days} days counted anew: all figures were right."
    return f"{done.days} days counted anew; {done.corrected} parts put right, and {done.links} counters of links."
