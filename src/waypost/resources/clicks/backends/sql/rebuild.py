"""Rebuilds statistics from clicks while the service runs. Only differing rows are written.

Days whose clicks were deleted by retention are skipped.
"""
# ruff: noqa: S608  # these statements consist of constants of this file

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Integer, Subquery, Table, TextClause, bindparam, func, select, text

from waypost.database import Database, Id, NamedRow, Tx, batches_of
from waypost.kit.clock import EPOCH
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.sql import top_values, write
from waypost.resources.clicks.days import find_days, find_kept_since, in_values
from waypost.resources.clicks.model import (
    DIMENSIONS,
    MAX_LINK_ROWS,
    WHOLE_DAY,
    Dimension,
    click_dimensions,
    click_totals,
    clicks,
    visitor_days,
)

# SQL that recounts a day from its clicks, on both databases. It shares no code with the aggregation of new clicks, so
# that each checks the other.


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


_LINKS_BATCH_SIZE = 500

_totals = click_totals.c
_SUMS_QUERY = (
    select(_totals.subject_id, func.sum(_totals.clicks).label("clicks"), func.sum(_totals.scans).label("scans"))
    .where(_totals.quarter == WHOLE_DAY)
    .group_by(_totals.subject_id)
)
_NEXT_ACCOUNT_QUERY = (
    select(clicks.c.account_id)
    .where(clicks.c.day == bindparam("day"), clicks.c.account_id > bindparam("after"))
    .order_by(clicks.c.account_id)
    .limit(1)
)

OnDay = Callable[[int, int], None]

Correction = tuple[Recount, Sequence[NamedRow[Any]]]
"""The statements, and the rows of their `difference`."""


@dataclass(slots=True)
class RebuildResult:
    days: int = 0
    account_days: int = 0
    corrected: int = 0
    """Account days, and days with orphans."""
    links: int = 0
    """Links whose counters were corrected."""


@dataclass(frozen=True, slots=True)
class Difference:
    text: str
    command: str
    """What to run."""


def difference_of_day(day: int) -> Difference:
    date = (EPOCH + timedelta(days=day)).date()
    return Difference(f"{date}: statistics differ from the clicks", f"waypost stats rebuild --from {date}")


def difference_of_links(count: int) -> Difference:
    return Difference(f"{count} links: their counters differ from the statistics", "waypost stats rebuild")


async def rebuild(db: Database, *, from_day: int | None = None, on_progress: OnDay | None = None) -> RebuildResult:
    """Call `on_progress` with the number of days done and of all days."""
    result = RebuildResult()
    days = await _find_days(db, from_day)
    for day in days:
        if on_progress:
            on_progress(result.days, len(days))
        result.corrected += await delete_orphans(db, day)
        async for account in _find_accounts(db, day):
            result.account_days += 1
            result.corrected += await _recount_account(db, day, account)
        result.days += 1
    if on_progress:
        on_progress(result.days, len(days))
    result.links = await correct_link_counters(db)
    return result


async def check(
    db: Database, *, from_day: int | None = None, on_progress: OnDay | None = None
) -> AsyncIterator[Difference]:
    """Yield what differs. Changes nothing. The key of clicks prevents duplicates."""
    days = await _find_days(db, from_day)
    for number, day in enumerate(days):
        if on_progress:
            on_progress(number, len(days))
        if await _differs(db, day):
            yield difference_of_day(day)
    wrong_clicks, wrong_scans = await _find_wrong_links(db)
    if count := len(wrong_clicks | wrong_scans):
        yield difference_of_links(count)


async def _differs(db: Database, day: int) -> bool:
    if await _find_orphans(db, day):
        return True
    async for account in _find_accounts(db, day):
        async with db.read() as tx:
            if await _find_corrections(tx, day, account):
                return True
    return False


async def _find_days(db: Database, from_day: int | None) -> list[int]:
    """Return the days with clicks or statistics, except those whose clicks were deleted by retention."""
    async with db.read() as tx:
        first = max(from_day or 0, await find_kept_since(tx))
        tables = clicks, click_totals, click_dimensions, visitor_days
        return sorted({day for table in tables for day in await find_days(tx, table) if day >= first})


async def _find_accounts(db: Database, day: int) -> AsyncIterator[UUID]:
    """Yield the accounts with clicks on this day."""
    after = UUID(int=0)
    while True:
        async with db.read() as tx:
            account = await tx.scalar(_NEXT_ACCOUNT_QUERY, {"day": day, "after": after})
        if account is None:
            return
        yield account
        after = account


async def _recount_account(db: Database, day: int, account: UUID) -> bool:
    """Return whether something was wrong. Then other writers wait while it is counted again and corrected."""
    async with db.read() as tx:
        if not await _find_corrections(tx, day, account):
            return False
    async with db.write() as tx:
        corrections = await _find_corrections(tx, day, account) if await _may_write(tx, day) else []
        for correction in corrections:
            await _correct(tx, account, correction)
    return bool(corrections)


async def delete_orphans(db: Database, day: int) -> bool:
    """Delete statistics of subjects without clicks on the day. Normally there are none."""
    with_orphans = await _find_orphans(db, day)
    if not with_orphans:
        return False
    async with db.write() as tx:
        if await _may_write(tx, day):
            for statements in with_orphans:
                await tx.execute(statements.delete_orphans, {"day": day})
            await top_values.clear_cache(tx)
    return True


async def _find_orphans(db: Database, day: int) -> list[Recount]:
    """Return the statements of the tables that have orphans."""
    async with db.read() as tx:
        return [
            statements
            for statements in recounts(db.dialect)
            if (await tx.execute(statements.find_orphans, {"day": day})).first()
        ]


async def _find_corrections(tx: Tx, day: int, account: UUID) -> list[Correction]:
    parameters = {"day": day, "account": account}
    all_tables = [
        (statements, (await tx.execute(statements.difference, parameters)).all())
        for statements in recounts(tx.dialect.name)
    ]
    return [(statements, rows) for statements, rows in all_tables if rows]


async def _correct(tx: Tx, account: UUID, correction: Correction) -> None:
    statements, rows = correction
    await top_values.clear_cache_of(tx, account)
    await tx.exec_driver_sql(statements.delete, [tuple(row[: statements.key_length]) for row in rows])
    expected: list[tuple[Any, ...]] = [tuple(row[:-1]) for row in rows if row[-1]]
    if expected:
        await tx.exec_driver_sql(statements.insert, expected)


async def _may_write(tx: Tx, day: int) -> bool:
    """Lock the statistics until the transaction ends. Return False if retention has reached this day."""
    await write.lock(tx)
    return day >= await find_kept_since(tx)


async def correct_link_counters(db: Database) -> int:
    """Set the counters of links that differ from the statistics. Return the number of these links."""
    wrong_clicks, wrong_scans = await _find_wrong_links(db)
    wrong = sorted(wrong_clicks | wrong_scans)
    for batch in batches_of(wrong, _LINKS_BATCH_SIZE):
        async with db.write() as tx:
            await write.lock(tx)
            correct = await _find_sums(tx, batch)
            await links.set_clicks(tx, {id_: correct.get(id_, (0, 0))[0] for id_ in batch})
            await qrcodes.set_scans(tx, {id_: correct.get(id_, (0, 0))[1] for id_ in batch if id_ in wrong_scans})
    return len(wrong)


async def _find_wrong_links(db: Database) -> tuple[set[UUID], set[UUID]]:
    """Return the links with wrong (clicks, scans)."""
    async with db.read() as tx:
        sums = _link_sums_subquery()
        return {*await links.find_wrong_clicks(tx, sums)}, {*await qrcodes.find_wrong_scans(tx, sums)}


def _link_sums_subquery() -> Subquery:
    """Subquery: (id, clicks, scans) of every link."""
    all_links, sums = links.SHORT_LINKS, _SUMS_QUERY.subquery()
    zero_if_none = (func.coalesce(sums.c[name], 0).label(name) for name in ("clicks", "scans"))
    return (
        select(all_links.c.id, *zero_if_none)
        .outerjoin_from(all_links, sums, sums.c.subject_id == all_links.c.id)
        .subquery()
    )


async def _find_sums(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    """Return (clicks, scans) of links that have any."""
    days = await find_days(tx, click_totals)
    sums = _SUMS_QUERY.where(_totals.subject_id.in_(link_ids), in_values(tx, _totals.day, days))
    return {row.subject_id: (int(row.clicks), int(row.scans)) for row in await tx.execute(sums)}
