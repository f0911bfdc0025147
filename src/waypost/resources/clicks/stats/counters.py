"""The counters of links, set to what their days add up to. Whether the days are whole is for the caller to know."""

from collections.abc import Callable

from sqlalchemy import Integer, bindparam, text

from waypost.database import Database, Id
from waypost.resources.clicks.days import days_of
from waypost.resources.clicks.model import WHOLE_DAY, click_totals
from waypost.resources.clicks.stats import rollups

_LINKS_AT_ONCE = 500

_MISCOUNTED = text(
    "SELECT links.id FROM links LEFT JOIN link_clicks ON link_clicks.link_id = links.id"
    " LEFT JOIN (SELECT subject_id, sum(clicks) AS counted FROM click_totals WHERE quarter = :whole_day"
    " GROUP BY subject_id) AS sums ON sums.subject_id = links.id"
    " WHERE coalesce(link_clicks.clicks, 0) <> coalesce(counted, 0)"
).columns(id=Id)
_SET = text(
    "INSERT INTO link_clicks (link_id, clicks) SELECT id, coalesce((SELECT sum(clicks) FROM click_totals"
    " WHERE subject_id = links.id AND day IN :days AND quarter = :whole_day), 0) FROM links WHERE id IN :ids"
    " ON CONFLICT (link_id) DO UPDATE SET clicks = excluded.clicks"
).bindparams(bindparam("days", expanding=True, type_=Integer), bindparam("ids", expanding=True, type_=Id))


def _never() -> bool:
    return False


async def count_links(db: Database, is_over: Callable[[], bool] = _never) -> tuple[int, bool]:
    """(how many were set, whether that is all): `is_over` is asked after each group of them."""
    async with db.read() as tx:
        wrong = list(await tx.scalars(_MISCOUNTED, {"whole_day": WHOLE_DAY}))
    for start in range(0, len(wrong), _LINKS_AT_ONCE):
        some = wrong[start : start + _LINKS_AT_ONCE]
        async with db.write() as tx:
            await rollups.lock(tx)
            days = await days_of(tx, click_totals)
            await tx.execute(_SET, {"days": days, "ids": some, "whole_day": WHOLE_DAY})
        done = start + len(some)
        if done < len(wrong) and is_over():
            return done, False
    return len(wrong), True
