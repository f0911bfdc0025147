"""Aggregates a year of clicks, one day per transaction.

`waypost stats rebuild` takes small steps instead, because others write at the same time.
A rebuild afterwards corrects nothing: its statements were written independently of these, and agree. The worker's own
code caches the top values of past days and of hours, as it would have done.
"""

from collections.abc import Iterator

from sqlalchemy import text

from waypost.database import Database
from waypost.kit.clock import now
from waypost.resources.clicks.backends.sql.top_values import StatsCacheRefresher
from waypost.resources.clicks.model import DIMENSIONS, WHOLE_DAY, Dimension

_OWN = {
    "sqlite": {
        "quarter": "(created_at - day * 86400000000) / 900000000",
        "tab": "char(9)",
        "hex": "lower(hex(link_id))",
    },
    "postgresql": {
        "quarter": "CAST(floor((extract(epoch FROM created_at) - day * 86400.0) / 900) AS integer)",
        "tab": "chr(9)",
        "hex": "replace(CAST(link_id AS text), '-', '')",
    },
}
_VISITS = "SELECT {subject} AS subject, {quarter} AS quarter, * FROM clicks WHERE day = :day"
_BIT = "CAST(1 AS bigint) <<"

_DIMENSION = """INSERT INTO click_dimensions (day, subject_id, dimension, value, clicks)
SELECT day, {subject}, {number}, {value}, count(*) FROM clicks WHERE day = :day AND kind = 'human'
GROUP BY day, {subject}, {value} ORDER BY 1, 2, 3, 4"""

_VISITORS = f"""INSERT INTO visitor_days (day, visitor_id, subject_id, morning, afternoon)
SELECT day, visitor_id, subject, sum(CASE WHEN quarter < 48 THEN {_BIT} quarter ELSE 0 END),
  sum(CASE WHEN quarter >= 48 THEN {_BIT} (quarter - 48) ELSE 0 END)
FROM (SELECT DISTINCT day, visitor_id, subject, quarter FROM ({_VISITS}) AS visits WHERE kind = 'human') AS seen
GROUP BY day, visitor_id, subject ORDER BY 1, 2, 3"""

_TOTALS = f"""INSERT INTO click_totals (day, subject_id, quarter, clicks, crawlers, previews, prefetches, scans,
  first_at, last_at, visitors, new_in_15, new_in_30, new_in_45, firsts, lasts)
WITH visits AS ({_VISITS}), seen AS (
  SELECT subject, quarter,
    quarter - lag(quarter) OVER visitor AS since, lead(quarter) OVER visitor AS next
  FROM (SELECT DISTINCT subject, visitor_id, quarter FROM visits WHERE kind = 'human') AS came
  WINDOW visitor AS (PARTITION BY subject, visitor_id ORDER BY quarter)
), first_seen AS (
  SELECT subject, quarter, count(*) AS visitors,
    sum(CASE WHEN since = 1 THEN 0 ELSE 1 END) AS new_in_15,
    sum(CASE WHEN since <= 2 THEN 0 ELSE 1 END) AS new_in_30,
    sum(CASE WHEN since <= 3 THEN 0 ELSE 1 END) AS new_in_45,
    sum(CASE WHEN since IS NULL THEN 1 ELSE 0 END) AS firsts,
    sum(CASE WHEN next IS NULL THEN 1 ELSE 0 END) AS lasts
  FROM seen GROUP BY subject, quarter
), counts AS (
  SELECT day, subject, quarter, sum(CASE WHEN kind = 'human' THEN 1 ELSE 0 END) AS clicks,
    sum(CASE WHEN kind = 'crawler' THEN 1 ELSE 0 END) AS crawlers,
    sum(CASE WHEN kind = 'preview' THEN 1 ELSE 0 END) AS previews,
    sum(CASE WHEN kind = 'prefetch' THEN 1 ELSE 0 END) AS prefetches,
    sum(CASE WHEN kind = 'human' AND is_scan THEN 1 ELSE 0 END) AS scans,
    min(CASE WHEN kind = 'human' THEN created_at END) AS first_at,
    max(CASE WHEN kind = 'human' THEN created_at END) AS last_at
  FROM visits GROUP BY day, subject, quarter
)
SELECT day, counts.subject, counts.quarter, clicks, crawlers, previews, prefetches, scans, first_at, last_at,
  coalesce(visitors, 0), coalesce(new_in_15, 0), coalesce(new_in_30, 0), coalesce(new_in_45, 0),
  coalesce(firsts, 0), coalesce(lasts, 0)
FROM counts LEFT JOIN first_seen ON first_seen.subject = counts.subject AND first_seen.quarter = counts.quarter
ORDER BY 1, 2, 3"""

_WHOLE_DAYS = f"""INSERT INTO click_totals (day, subject_id, quarter, clicks, crawlers, previews, prefetches, scans,
  first_at, last_at, visitors, new_in_15, new_in_30, new_in_45, firsts, lasts)
SELECT day, subject_id, {WHOLE_DAY}, sum(clicks), sum(crawlers), sum(previews), sum(prefetches), sum(scans),
  min(first_at), max(last_at), sum(firsts), sum(firsts), sum(firsts), sum(firsts), sum(firsts), sum(firsts)
FROM click_totals WHERE day = :day GROUP BY day, subject_id"""


async def aggregate(db: Database, days: range) -> None:
    statements = [text(statement) for statement in _statements(db.dialect)]
    for day in days:
        async with db.write() as tx:
            for statement in statements:
                await tx.execute(statement, {"day": day})


async def cache_values(url: str) -> None:
    """What a worker does every hour."""
    db = Database(url)
    refresher = StatsCacheRefresher(db, clock=now)
    while await refresher.step():
        pass
    await db.close()


def _statements(dialect: str) -> Iterator[str]:
    own = _OWN[dialect]
    agent = f"device || {own['tab']} || browser || {own['tab']} || platform"
    for subject in ("link_id", "account_id"):
        yield _TOTALS.format(subject=subject, quarter=own["quarter"])
        values: dict[Dimension, str] = {"country": "country", "referrer": "referrer", "agent": agent}
        for name, value in values.items():
            yield _DIMENSION.format(subject=subject, number=DIMENSIONS[name], value=value)
    yield _VISITORS.format(subject="link_id", quarter=own["quarter"])  # each visits few links: none has more rows
    yield _DIMENSION.format(subject="account_id", number=DIMENSIONS["link"], value=own["hex"])
    yield _WHOLE_DAYS
