"""The counters of links and of their codes, set to what their days add up to.

Whether the days are whole is for the caller to know.
"""

from sqlalchemy import Integer, TextClause, bindparam, text

from waypost.database import Database, Id
from waypost.resources.clicks.days import days_of
from waypost.resources.clicks.model import WHOLE_DAY, click_totals
from waypost.resources.clicks.stats.aggregate import rollups

_LINKS_AT_ONCE = 500

# each link has a counter of clicks; of scans, those that were scanned
_MISCOUNTED = text(
    "SELECT links.id, coalesce(link_clicks.clicks, -1) <> coalesce(counted, 0) AS has_wrong_clicks,"
    " coalesce(qr_scans.scans, 0) <> coalesce(scanned, 0) AS has_wrong_scans"
    " FROM links LEFT JOIN link_clicks ON link_clicks.link_id = links.id"
    " LEFT JOIN qr_scans ON qr_scans.link_id = links.id"
    " LEFT JOIN (SELECT subject_id, sum(clicks) AS counted, sum(scans) AS scanned FROM click_totals"
    " WHERE quarter = :whole_day GROUP BY subject_id) AS sums ON sums.subject_id = links.id"
    " WHERE coalesce(link_clicks.clicks, -1) <> coalesce(counted, 0)"
    " OR coalesce(qr_scans.scans, 0) <> coalesce(scanned, 0)"
).columns(id=Id)


def _set(table: str, count: str, others: str = "") -> TextClause:
    return text(
        f"INSERT INTO {table} (link_id, {others}{count})"  # noqa: S608
        f" SELECT id, {others}coalesce((SELECT sum({count}) FROM click_totals"
        " WHERE subject_id = links.id AND day IN :days AND quarter = :whole_day), 0) FROM links WHERE id IN :ids"
        f" ON CONFLICT (link_id) DO UPDATE SET {count} = excluded.{count}"
    ).bindparams(bindparam("days", expanding=True, type_=Integer), bindparam("ids", expanding=True, type_=Id))


_SET_CLICKS, _SET_SCANS = _set("link_clicks", "clicks", "account_id, "), _set("qr_scans", "scans")


async def count_links(db: Database) -> int:
    """Returns how many were set."""
    async with db.read() as tx:
        wrong = (await tx.execute(_MISCOUNTED, {"whole_day": WHOLE_DAY})).all()
    for start in range(0, len(wrong), _LINKS_AT_ONCE):
        some = wrong[start : start + _LINKS_AT_ONCE]
        async with db.write() as tx:
            await rollups.lock(tx)
            days = await days_of(tx, click_totals)
            given = {"days": days, "whole_day": WHOLE_DAY}
            for statement, ids in (
                (_SET_CLICKS, [link.id for link in some if link.has_wrong_clicks]),
                (_SET_SCANS, [link.id for link in some if link.has_wrong_scans]),
            ):
                if ids:
                    await tx.execute(statement, given | {"ids": ids})
    return len(wrong)
