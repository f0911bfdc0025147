"""SQL that recounts the statistics of a day from its clicks, on both databases.

It shares no code with the aggregation of new clicks, so that each checks the other.
"""
# ruff: noqa: S608  # these statements consist of constants of this file

from dataclasses import dataclass

from sqlalchemy import Integer, Table, TextClause, bindparam, text

from waypost.database import Id
from waypost.resources.clicks.model import (
    DIMENSIONS,
    MAX_LINK_ROWS,
    WHOLE_DAY,
    Dimension,
    click_dimensions,
    click_totals,
    visitor_days,
)


@dataclass(frozen=True, slots=True)
class Recount:
    """The statements for one table of statistics."""

    difference: TextClause
    """Rows of an account on a day that are missing (with 1 in a last column) or wrong (with 0)."""
    delete: str
    """Deletes a row by its key."""
    insert: str
    key_length: int
    find_orphans: TextClause
    """Finds a row of the day without a click of any account."""
    delete_orphans: TextClause


_DAY = bindparam("day", type_=Integer)
_QUARTER = {
    "sqlite": "(created_at - day * 86400000000) / 900000000",
    "postgresql": "CAST(floor((extract(epoch FROM created_at) - day * 86400.0) / 900) AS integer)",
}
_HEX = {"sqlite": "lower(hex(link_id))", "postgresql": "replace(CAST(link_id AS text), '-', '')"}

# each click for its link and again for its account; materialized, because it is read several times
_VISITS = """WITH visits AS MATERIALIZED (
  SELECT link_id AS subject_id, '' AS link, {quarter} AS quarter,
    created_at, kind, is_scan, visitor_id, country, referrer, device, browser, platform, target
  FROM clicks WHERE day = :day AND account_id = :account
  UNION ALL
  SELECT account_id, {hex}, {quarter},
    created_at, kind, is_scan, visitor_id, country, referrer, device, browser, platform, ''
  FROM clicks WHERE day = :day AND account_id = :account
)"""

# the day itself counts like one more quarter, without visitors before or after it
_TOTALS = f""",
with_quarters AS (
  SELECT subject_id, quarter, created_at, kind, is_scan, visitor_id FROM visits
  UNION ALL
  SELECT subject_id, {WHOLE_DAY}, created_at, kind, is_scan, visitor_id FROM visits
),
counted AS (
  SELECT subject_id, quarter,
    count(*) FILTER (WHERE kind = 'human') AS clicks,
    count(*) FILTER (WHERE kind = 'crawler') AS crawlers,
    count(*) FILTER (WHERE kind = 'preview') AS previews,
    count(*) FILTER (WHERE kind = 'prefetch') AS prefetches,
    count(*) FILTER (WHERE kind = 'human' AND is_scan) AS scans,
    min(created_at) FILTER (WHERE kind = 'human') AS first_at,
    max(created_at) FILTER (WHERE kind = 'human') AS last_at
  FROM with_quarters GROUP BY subject_id, quarter
),
seen AS (SELECT DISTINCT subject_id, visitor_id, quarter FROM with_quarters WHERE kind = 'human'),
neighbors AS (
  SELECT subject_id, quarter, quarter - lag(quarter) OVER visitor AS since, lead(quarter) OVER visitor AS next_quarter
  FROM seen WINDOW visitor AS (PARTITION BY subject_id, visitor_id, quarter = {WHOLE_DAY} ORDER BY quarter)
),
first_seen AS (
  SELECT subject_id, quarter, count(*) AS visitors,
    count(*) FILTER (WHERE since IS NULL OR since > 1) AS new_in_15,
    count(*) FILTER (WHERE since IS NULL OR since > 2) AS new_in_30,
    count(*) FILTER (WHERE since IS NULL OR since > 3) AS new_in_45,
    count(*) FILTER (WHERE since IS NULL) AS firsts,
    count(*) FILTER (WHERE next_quarter IS NULL) AS lasts
  FROM neighbors GROUP BY subject_id, quarter
),
expected AS (
  SELECT :day AS day, counted.*, coalesce(visitors, 0) AS visitors, coalesce(new_in_15, 0) AS new_in_15,
    coalesce(new_in_30, 0) AS new_in_30, coalesce(new_in_45, 0) AS new_in_45,
    coalesce(firsts, 0) AS firsts, coalesce(lasts, 0) AS lasts
  FROM counted LEFT JOIN first_seen
    ON first_seen.subject_id = counted.subject_id AND first_seen.quarter = counted.quarter
)"""

_VALUES: dict[Dimension, str] = {
    "country": "country",
    "referrer": "referrer",
    "agent": "device || '\t' || browser || '\t' || platform",
    "link": "link",
    "target": "target",
}
_ONLY = {"link": " AND subject_id = :account", "target": " AND target <> ''"}
"""The clicks that a dimension counts, unless it counts all."""
_DIMENSIONS = ",\nexpected AS ({})".format(
    " UNION ALL ".join(
        f"SELECT :day AS day, subject_id, {code} AS dimension, {_VALUES[name]} AS value, count(*) AS clicks"
        f" FROM visits WHERE kind = 'human'{_ONLY.get(name, '')}"
        f" GROUP BY subject_id, {_VALUES[name]}"
        for name, code in DIMENSIONS.items()
    )
)

_VISITORS = f""",
seen AS (SELECT DISTINCT subject_id, visitor_id, quarter FROM visits WHERE kind = 'human'),
with_account AS (
  SELECT visitor_id FROM seen WHERE subject_id <> :account
  GROUP BY visitor_id HAVING count(DISTINCT subject_id) > {MAX_LINK_ROWS}
),
expected AS (
  SELECT :day AS day, visitor_id, subject_id,
    CAST(coalesce(sum(CAST(1 AS bigint) << quarter) FILTER (WHERE quarter < 48), 0) AS bigint) AS morning,
    CAST(coalesce(sum(CAST(1 AS bigint) << (quarter - 48)) FILTER (WHERE quarter >= 48), 0) AS bigint) AS afternoon
  FROM seen WHERE subject_id <> :account OR visitor_id IN (SELECT visitor_id FROM with_account)
  GROUP BY visitor_id, subject_id
)"""

_EXPECTED = {click_totals: _TOTALS, click_dimensions: _DIMENSIONS, visitor_days: _VISITORS}


def recounts(dialect: str) -> tuple[Recount, ...]:
    return tuple(_recount(dialect, table) for table in _EXPECTED)


def _recount(dialect: str, table: Table) -> Recount:
    visits = _VISITS.format(quarter=_QUARTER[dialect], hex=_HEX[dialect])
    names = ", ".join(table.c.keys())
    expected = f"{visits}{_EXPECTED[table]}"
    # pairs: of a list of visitors and one of links, SQLite would look up each combination
    subject = "visitor_id, subject_id" if table is visitor_days else "subject_id"
    rows = f"{table.name} WHERE day = :day AND ({subject}) IN (SELECT {subject} FROM visits)"
    with_clicks = (subject.replace("subject_id", owner) for owner in ("link_id", "account_id"))
    excepted = "".join(f" EXCEPT SELECT {columns} FROM clicks WHERE day = :day" for columns in with_clicks)
    orphans = f"SELECT {subject} FROM {table.name} WHERE day = :day{excepted}"
    both = f"SELECT {names}, 1 AS is_expected FROM expected UNION ALL SELECT {names}, 0 FROM {rows}"
    placeholder = "?" if dialect == "sqlite" else "%s"
    key = table.primary_key.columns.keys()
    return Recount(
        difference=text(
            f"{expected} SELECT {names}, max(is_expected) FROM ({both}) AS pairs GROUP BY {names} HAVING count(*) = 1"
        ).bindparams(_DAY, bindparam("account", type_=Id)),
        delete=f"DELETE FROM {table.name} WHERE {' AND '.join(f'{name} = {placeholder}' for name in key)}",
        insert=f"INSERT INTO {table.name} ({names}) VALUES ({', '.join([placeholder] * len(table.c))})",
        key_length=len(key),
        find_orphans=text(f"{orphans} LIMIT 1").bindparams(_DAY),
        delete_orphans=text(f"DELETE FROM {table.name} WHERE day = :day AND ({subject}) IN ({orphans})").bindparams(
            _DAY
        ),
    )
