"""Clicks of the last days for a page's worth of links, in one statement: 350 seeks for 25 links, whatever they had."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx
from waypost.kit.clock import DAY, Clock, microseconds
from waypost.resources.clicks.days import any_of
from waypost.resources.clicks.model import WHOLE_DAY, click_totals

DAYS = 14


async def sparklines(clock: Clock, tx: Tx, link_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[int]]:
    """Of each link its clicks on the last DAYS days in UTC, today's last."""
    today = microseconds(clock()) // DAY
    days = range(today - DAYS + 1, today + 1)
    found = {id_: [0] * DAYS for id_ in link_ids}
    t = click_totals.c
    counted = select(t.day, t.subject_id, t.clicks).where(t.subject_id.in_(link_ids), t.quarter == WHOLE_DAY)
    for day, id_, clicks in await tx.execute(counted.where(any_of(tx, t.day, days))):
        found[id_][day - days[0]] = clicks
    return found
