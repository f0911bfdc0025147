"""`waypost stats rebuild`: recounts statistics from click rows, while the service runs."""

from datetime import datetime

from waypost.commands.progress import progress
from waypost.database import Database
from waypost.kit.clock import EPOCH
from waypost.resources.clicks.stats.rebuild.service import rebuild


async def rebuilt(db: Database, start: datetime | None) -> str:
    """Says what was done; a day is taken whole, whenever in it `start` is."""
    with progress("Counting days") as on_progress:
        done = await rebuild(db, from_day=(start - EPOCH).days if start else None, on_progress=on_progress)
    if not (done.corrected or done.links):
        return f"{done.days} days recounted: all statistics were correct."
    return f"{done.days} days recounted: {done.corrected} corrections, {done.links} link counters set."
