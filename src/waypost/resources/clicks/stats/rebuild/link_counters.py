"""Sets the counters of links and of their QR codes to the sums of their days."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Subquery, func, select

from waypost.database import Database, Tx
from waypost.resources import links, qrcodes
from waypost.resources.clicks.days import any_of, days_of
from waypost.resources.clicks.model import WHOLE_DAY, click_totals
from waypost.resources.clicks.stats.aggregate import rollups

_LINKS_AT_ONCE = 500
_T = click_totals.c
_SUMS = (
    select(_T.subject_id, func.sum(_T.clicks).label("clicks"), func.sum(_T.scans).label("scans"))
    .where(_T.quarter == WHOLE_DAY)
    .group_by(_T.subject_id)
)


async def count_links(db: Database) -> int:
    """Returns the number of links whose counters were set."""
    async with db.read() as tx:
        sums = _sums_of_links()
        wrong_clicks = {*await links.find_wrong_clicks(tx, sums)}
        wrong_scans = {*await qrcodes.find_wrong_scans(tx, sums)}
    wrong = sorted(wrong_clicks | wrong_scans)
    for start in range(0, len(wrong), _LINKS_AT_ONCE):
        some = wrong[start : start + _LINKS_AT_ONCE]
        async with db.write() as tx:
            await rollups.lock(tx)
            found = await _find_sums(tx, some)
            await links.set_clicks(tx, {id_: found.get(id_, (0, 0))[0] for id_ in some})
            await qrcodes.set_scans(tx, {id_: found.get(id_, (0, 0))[1] for id_ in some if id_ in wrong_scans})
    return len(wrong)


def _sums_of_links() -> Subquery:
    """(id, clicks, scans) of every link."""
    every, sums = links.SHORT_LINKS, _SUMS.subquery()
    zero_if_none = (func.coalesce(sums.c[name], 0).label(name) for name in ("clicks", "scans"))
    return select(every.c.id, *zero_if_none).outerjoin_from(every, sums, sums.c.subject_id == every.c.id).subquery()


async def _find_sums(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    """(clicks, scans) of links that have any."""
    days = await days_of(tx, click_totals)
    sums = _SUMS.where(_T.subject_id.in_(link_ids), any_of(tx, _T.day, days))
    return {row.subject_id: (int(row.clicks), int(row.scans)) for row in await tx.execute(sums)}
