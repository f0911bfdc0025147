"""Whether the clock of this machine can be right: ids, statistics, sessions and certificates depend on it.

A clock that is obviously wrong is refused. One that is behind the stored rows is reported only: it may be right now,
and have been ahead before.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from waypost.kit.clock import EPOCH, timestamp
from waypost.kit.errors import WaypostError

if TYPE_CHECKING:
    from waypost.database import Database

EARLIEST = datetime(2026, 11, 1, tzinfo=UTC)
"""When this version was written. CONTRIBUTING.md names it in the steps of a release."""
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
NEWEST_IDS = tuple(f"SELECT id FROM {table} ORDER BY id DESC LIMIT 1" for table in ("accounts", "links", "clicks"))  # noqa: S608
"""Queries of the newest row of tables, whose ids begin with the time."""
_TOLERANCE = timedelta(hours=1)


class ClockWrong(WaypostError):
    """The clock of this machine is wrong."""


def check_clock(now: datetime) -> None:
    """Raise ClockWrong if no installation of this version can have this time."""
    if EARLIEST <= now < LATEST:
        return
    side = (
        f"before {EARLIEST.date()}, when this version was written"
        if now < EARLIEST
        else f"the year {LATEST.year} or later"
    )
    raise ClockWrong(
        f"The clock of this machine says {timestamp(now)}, which is {side}. Set it, for example with"
        " `timedatectl set-ntp true`, then start again."
    )


def find_lead(ids: Iterable[UUID], now: datetime) -> timedelta | None:
    """Return how far the newest row is in the future, if that is more than an hour."""
    newest = max((int.from_bytes(id_.bytes[:6]) for id_ in ids), default=0)  # milliseconds since 1970
    lead = timedelta(milliseconds=newest) - (now - EPOCH)
    return lead if lead > _TOLERANCE else None


async def read_newest_ids(db: "Database") -> list[UUID]:
    from sqlalchemy import text  # imported late: `serve` does without

    from waypost.database import Id

    async with db.read() as tx:
        found = [(await tx.execute(text(query).columns(id=Id))).scalar_one_or_none() for query in NEWEST_IDS]
    return [id_ for id_ in found if id_]
