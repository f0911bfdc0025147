"""The latest clicks of a link or an account, and whether there are newer ones: that is asked every second."""

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import func, select

from waypost.database import Database, Tx
from waypost.resources import links
from waypost.resources.clicks import listing
from waypost.resources.clicks.dashboard.rendering import Row, row_of
from waypost.resources.clicks.days import any_of
from waypost.resources.clicks.model import WHOLE_DAY, click_totals
from waypost.resources.clicks.subject import Subject

COUNT = 12
_T = click_totals.c
_GONE = "a deleted link"


async def newest(tx: Tx, subject: Subject, *, shared_domain: str) -> list[Row]:
    found = await listing.latest(tx, subject, COUNT)
    if not subject.is_account:
        return [row_of(click) for click in found]
    ids = {UUID(bytes=click.link_id) for click in found}
    names = await links.find_names(tx, sorted(ids), shared_domain=shared_domain)
    return [row_of(click, names.get(UUID(bytes=click.link_id), (_GONE, ""))[0]) for click in found]


async def counts(db: Database, subjects: Collection[UUID], today: int) -> Mapping[UUID, int]:
    """Clicks of yesterday and today, and of tomorrow, since clocks differ: a few rows by their keys for each subject.

    Whoever has none is missing.
    """
    async with db.read() as tx:
        counted = select(_T.subject_id, func.sum(_T.clicks)).where(
            any_of(tx, _T.day, range(today - 1, today + 2)),
            _T.subject_id.in_(subjects),
            _T.quarter == WHOLE_DAY,
        )
        return {id_: int(count) for id_, count in await tx.execute(counted.group_by(_T.subject_id))}
