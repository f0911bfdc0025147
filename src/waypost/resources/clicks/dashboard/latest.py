"""The latest clicks of a link or an account, and counts that show whether there are newer ones."""

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import func, select

from waypost.database import Database, Tx
from waypost.resources import links
from waypost.resources.clicks import listing
from waypost.resources.clicks.dashboard.rendering import LatestClick, latest_click
from waypost.resources.clicks.days import any_of
from waypost.resources.clicks.model import WHOLE_DAY, Subject, click_totals

COUNT = 12
_T = click_totals.c


async def latest_clicks(tx: Tx, subject: Subject, *, shared_domain: str) -> list[LatestClick]:
    found = await listing.latest(tx, subject, COUNT)
    if not subject.is_account:
        return [latest_click(click) for click in found]
    ids = {UUID(bytes=click.link_id) for click in found}
    names = await links.find_names(tx, sorted(ids), shared_domain=shared_domain)
    return [latest_click(click, names.get(UUID(bytes=click.link_id), ("Deleted link", ""))[0]) for click in found]


async def count_recent_clicks(db: Database, subjects: Collection[UUID], today: int) -> Mapping[UUID, int]:
    """Clicks of yesterday, today, and tomorrow, because clocks differ: a few seeks for each subject.

    Subjects without clicks are missing.
    """
    async with db.read() as tx:
        counts = select(_T.subject_id, func.sum(_T.clicks)).where(
            any_of(tx, _T.day, range(today - 1, today + 2)),
            _T.subject_id.in_(subjects),
            _T.quarter == WHOLE_DAY,
        )
        return {id_: int(count) for id_, count in await tx.execute(counts.group_by(_T.subject_id))}
