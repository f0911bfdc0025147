"""The values with the most clicks in a time range: exact, although most of its days are read from a cache.

The cache holds, for a range of past days, the CACHED_COUNT most frequent values of each dimension. Any other value has
at most as many clicks there as the last of these, so it is a candidate only if the other days could make up the
difference. The clicks of candidates are summed up.
"""
# ruff: noqa: S608  # these statements consist of constants of this file

import contextlib
import json
import math
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Executable,
    Integer,
    Select,
    String,
    TextClause,
    bindparam,
    cast,
    delete,
    func,
    literal,
    select,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from waypost import accounts
from waypost.database import Database, Id, Tx, upsert
from waypost.kit.clock import EPOCH, Clock
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.days import DaySlice, SignedSlice, day_of, find_known_days, in_values, within
from waypost.resources.clicks.label_values import LabelValues, sum_labels
from waypost.resources.clicks.model import (
    DIMENSIONS,
    HUMAN,
    LABELS,
    TOP_COUNT,
    WHOLE_DAY,
    Dimension,
    RankedValues,
    StatsTotals,
    Subject,
    click_dimensions,
    click_totals,
    clicks,
    top_values_cache,
)

# Parts of days: only clicks say at which time of the day a value was seen.

AGENT = ("device", "browser", "platform")
"""The parts of a value of the dimension `agent`, in this order."""

ValueCounts = dict[str, Counter[str]]
"""Clicks of each value, by dimension; instead of `agent`, by each of AGENT."""

_MAX_CLICKS_OF_DAY = 100_000
"""A statement that counts half of them takes a fifth of a second, and is interrupted after two."""
_MAX_VALUES = 50_000
"""Of a list. Visitors can invent any number of referrers, and other visits wait while these are added up."""


async def sum_partial_days(
    tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice], limit: int
) -> ValueCounts | None:
    """Count the clicks of each value. Return None if a list has too many.

    Too many are `limit` in one statement, or _MAX_VALUES in all.
    """
    counts = _no_counts()
    for slices in _statements(partial_days):
        counted = await count_values(tx, subject, slices, limit)
        if any(len(values) >= limit for values in counted.values()):
            return None
        for name, values in counted.items():
            counts[name].update(values)
            if len(counts[name]) >= _MAX_VALUES:
                return None
    return counts


async def count_values(tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice], limit: int) -> ValueCounts:
    """Count the clicks of `limit` values of each list, and of all of AGENT, from click rows."""
    lists = []
    for name, counts in partial_count_queries(tx, subject, partial_days).items():
        value, count = (counts if name == "agent" else counts.limit(limit)).subquery().c
        lists.append(select(literal(name).label("dimension"), value, count))
    return await read_counts(tx, union_all(*lists))


def partial_count_queries(
    tx: Tx, subject: Subject, partial: ValueCounts | Sequence[SignedSlice]
) -> Mapping[Dimension, Select[Any]]:
    """Select value and clicks, by dimension: from click rows of the slices, or from counts that the statement carries.

    The counts have no agents, only their parts.
    """
    if isinstance(partial, Mapping):
        return {name: _select_counts(tx, partial[name]) for name in subject.dimensions if partial.get(name)}
    if not partial:
        return {}
    columns = _partial_days_cte(tx, subject, partial).c
    return {name: select(columns[name], func.sum(columns.sign)).group_by(columns[name]) for name in subject.dimensions}


def _select_counts(tx: Tx, counts: Mapping[str, int]) -> Select[Any]:
    values: Any = literal(json.dumps(counts, ensure_ascii=False), String)
    if tx.dialect.name == "postgresql":
        rows = func.json_each_text(cast(values, postgresql.JSON)).table_valued("key", "value")
        return select(rows.c.key, cast(rows.c.value, Integer))
    rows = func.json_each(values).table_valued("key", "value")
    return select(rows.c.key, rows.c.value)


def _statements(to_count: Sequence[SignedSlice]) -> Iterator[list[SignedSlice]]:
    """Yield the slices that one statement counts: all together, but of a day with very many clicks an hour."""
    if together := [each for each in to_count if each.clicks_of_day <= _MAX_CLICKS_OF_DAY]:
        yield together
    for each in to_count:
        if each.clicks_of_day > _MAX_CLICKS_OF_DAY:
            yield from ([each._replace(day_slice=hour)] for hour in each.day_slice.hours())


async def read_counts(tx: Tx, query: Executable, parameters: Mapping[str, Any] | None = None) -> ValueCounts:
    return split_agents(await tx.execute(query, parameters))


def split_agents(rows: Iterable[Sequence[Any]]) -> ValueCounts:
    """Add up rows of dimension, value and clicks, with agents split into their parts."""
    counts = _no_counts()
    agents = Counter[str]()
    for name, value, count in rows:
        (agents if name == "agent" else counts[name])[value] += int(count)
    counts["target"].pop("", None)  # clicks of a part of a day, from before the link had rules or variants
    for agent, count in agents.items():
        for name, value in zip(AGENT, agent.split("\t"), strict=True):
            counts[name][value] += count
    return counts


def _no_counts() -> ValueCounts:
    return {name: Counter() for name in (*DIMENSIONS, *AGENT) if name != "agent"}


def _partial_days_cte(tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice]) -> CTE:
    """Return the values of each click, and its sign."""
    queries = (
        _clicks_query(tx, subject, day_slice).add_columns(literal(sign).label("sign"))
        for sign, day_slice, _ in partial_days
    )
    return union_all(*queries).cte("partial_days")


def _clicks_query(tx: Tx, subject: Subject, day_slice: DaySlice) -> Select[Any]:
    columns = clicks.c
    agent = columns.device + "\t" + columns.browser + "\t" + columns.platform
    link = _hex(tx, columns.link_id)
    values = {
        "country": columns.country,
        "referrer": columns.referrer,
        "agent": agent,
        "link": link,
        "target": columns.target,
    }
    selected = (values[name].label(name) for name in subject.dimensions)
    return select(*selected).where(subject.clicks, *within(day_slice), columns.kind == HUMAN)


def _hex(tx: Tx, id_: ColumnElement[UUID]) -> ColumnElement[str]:
    if tx.dialect.name == "postgresql":
        return func.replace(cast(id_, String), "-", "")
    return func.lower(func.hex(id_))


CACHED_COUNT = 128
CACHE_THRESHOLD = 20_000
"""Clicks in a time range. Above it, summing up values takes longer than all other statistics: so the worker caches
them, and a page loads its lists after itself.
"""
_MAX_CANDIDATES = 200
"""If more values of a list could be top values, clicks are so scattered that the cache does not help."""
_MAX_PARTIAL_DAY_VALUES = 10_000
"""Values of a list read from click rows. Visitors can invent any number of referrers."""

_dimensions, _cache = click_dimensions.c, top_values_cache.c
_CACHED_DAYS_COLUMNS = (_cache.first_day, _cache.last_day, _cache.clicks)

# SQL texts, because SQLAlchemy takes milliseconds to build these statements. Days and values are sent as JSON: one
# parameter, and PostgreSQL does not estimate the rows of each of them.
_IN_DAYS = {
    "sqlite": "IN (SELECT value FROM json_each(:days))",
    "postgresql": "= ANY (ARRAY(SELECT CAST(json_array_elements_text(CAST(:days AS json)) AS integer)))",
}
_IN_VALUES = {
    "sqlite": "IN (SELECT value FROM json_each(:{name}))",
    "postgresql": "IN (SELECT json_array_elements_text(CAST(:{name} AS json)))",
}

CacheKey = tuple[UUID, str]
"""(subject, time range of the dashboard)"""


@dataclass(frozen=True, slots=True)
class CachedDays:
    first_day: int
    last_day: int
    clicks: int
    """Of humans. Counts only grow, so days with as many clicks are unchanged since their values were cached."""

    def has(self, day: int) -> bool:
        return self.first_day <= day <= self.last_day


async def find_top_values(
    tx: Tx, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], limit: int | None
) -> RankedValues:
    """Return `limit` values of each list. None: TOP_COUNT. `days`: the clicks of each whole day."""
    ranked, count = None, limit or TOP_COUNT
    if limit is None and sum(days.values()) + sum(each.clicks_of_day for each in partial_days) > CACHE_THRESHOLD:
        partial_counts = await sum_partial_days(tx, subject, partial_days, _MAX_PARTIAL_DAY_VALUES)
        if partial_counts is not None:
            ranked = await _rank_with_cache(tx, subject, days, partial_counts)
            if ranked is None:
                ranked = await rank_values(tx, subject, list(days), partial_counts, TOP_COUNT)
    if ranked is None:
        ranked = await rank_values(tx, subject, list(days), partial_days, count)
    return {name: counted[:count] for name, counted in ranked.items()}


async def find_cached_days(tx: Tx, account_id: UUID) -> dict[CacheKey, CachedDays]:
    query = select(_cache.subject_id, _cache.time_range, *_CACHED_DAYS_COLUMNS).where(_cache.account_id == account_id)
    return {(row.subject_id, row.time_range): CachedDays(*row[2:]) for row in await tx.execute(query)}


async def clear_cache(tx: Tx) -> None:
    await tx.execute(delete(top_values_cache))


async def clear_cache_of(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(top_values_cache).where(_cache.account_id == account_id))


async def _rank_with_cache(
    tx: Tx, subject: Subject, days: Mapping[int, int], partial_counts: ValueCounts
) -> RankedValues | None:
    cached_days, cached = await _find_largest_cached_days(tx, subject.id, days) if days else (None, {})
    if cached_days is None:
        return None
    other_days = [day for day in days if not cached_days.has(day)]
    candidates = await _find_candidates(tx, subject, cached, other_days, partial_counts)
    if any(len(values) > _MAX_CANDIDATES for values in candidates.values()):
        return None
    cached_values: dict[Dimension, list[str]] = {name: [value for value, _ in cached[name]] for name in candidates}
    totals = await sum_values(tx, subject, other_days, {**cached_values, "agent": None})
    candidate_counts = await sum_values(tx, subject, list(days), candidates) if any(candidates.values()) else {}
    for name, counts in totals.items():
        for added in (dict(cached.get(name, ())), candidate_counts.get(name), partial_counts[name]):
            counts.update(added or {})
    return rank(totals)


async def _find_candidates(
    tx: Tx, subject: Subject, cached: RankedValues, other_days: Sequence[int], partial_counts: ValueCounts
) -> dict[Dimension, set[str]]:
    """Return values of each list that are not cached and could be top values by their clicks on the other days."""
    names: list[Dimension] = [name for name in subject.dimensions if name != "agent"]
    parts = len(other_days) + any(partial_counts.values())
    min_clicks = {name: _min_clicks(cached[name], partial_counts[name], parts) for name in names}
    limit = len(other_days) * (CACHED_COUNT + _MAX_CANDIDATES) + 1
    candidates = await find_values_with_clicks(tx, subject, other_days, min_clicks, limit)
    for name, values in candidates.items():
        values.update(value for value, count in partial_counts[name].items() if count >= min_clicks[name])
        values.difference_update(dict(cached[name]))
    return candidates


def _min_clicks(cached: Sequence[tuple[str, int]], partial_counts: Mapping[str, int], parts: int) -> int:
    """Return the clicks that a top value has in one of the parts if it is not cached.

    A part is one of the other days, or all partial days.
    """
    if len(cached) < TOP_COUNT:
        return 1
    counts = sorted((count + min(0, partial_counts.get(value, 0)) for value, count in cached), reverse=True)
    missing = counts[TOP_COUNT - 1] - cached[-1][1]
    return max(1, math.ceil(missing / max(1, parts)))


async def _find_largest_cached_days(
    tx: Tx, subject_id: UUID, days: Mapping[int, int]
) -> tuple[CachedDays | None, dict[str, Any]]:
    """Return those with the most clicks, and their values. Fewer than half of all clicks would not save time."""
    conditions = (
        _cache.subject_id == subject_id,
        _cache.first_day >= min(days),
        _cache.last_day <= max(days),
        _cache.clicks > sum(days.values()) // 2,
    )
    query = select(_cache.top_values, *_CACHED_DAYS_COLUMNS).where(*conditions).order_by(_cache.clicks.desc())
    for row in await tx.execute(query):
        cached_days = CachedDays(*row[1:])
        if sum(clicks for day, clicks in days.items() if cached_days.has(day)) == cached_days.clicks:
            return cached_days, json.loads(row.top_values)
    return None, {}


# What links have now: it may change at any time, and with it what the clicks of all days add up to.

_MAX_LABELS = 2_000
"""Of a list. Accounts with more are not cached."""
_MAX_ADDED_UP = 1_000_000
"""Clicks of cached days that are added up again after a change of labels, rather than at the next refresh."""
_LINKS = 20_000
"""Read at a time."""


async def find_label_values(
    tx: Tx, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], *, shared_domain: str
) -> LabelValues:
    """Return the clicks of each tag, hostname and UTM parameter of the account's links."""
    cached_days, cached = await _find_largest_cached_days(tx, subject.id, days) if days else (None, {})
    labels: Any = cached.get("labels")
    if cached_days and labels and cached_days.clicks < _MAX_ADDED_UP:
        is_current = labels["changes"] == await accounts.count_label_changes(tx, subject.account_id)
        labels = labels if is_current and labels["lists"].keys() >= set(LABELS) else None
    if not cached_days or not labels:
        return await sum_label_values(tx, subject, list(days), partial_days, shared_domain=shared_domain)
    other_days = [day for day in days if not cached_days.has(day)]
    found = await sum_label_values(tx, subject, other_days, partial_days, shared_domain=shared_domain)
    for name, counted in labels["lists"].items():
        found[name].update({value or shared_domain: count for value, count in counted})
    return found


async def _find_outdated_labels(tx: Tx, account_id: UUID) -> set[CacheKey]:
    changes = await accounts.count_label_changes(tx, account_id)
    query = select(_cache.time_range, _cache.top_values).where(_cache.subject_id == account_id)
    cached = {time_range: json.loads(values).get("labels") for time_range, values in await tx.execute(query)}
    return {
        (account_id, time_range) for time_range, labels in cached.items() if labels and labels["changes"] != changes
    }


async def sum_label_values(
    tx: Tx, subject: Subject, days: Sequence[int], partial_days: Sequence[SignedSlice], *, shared_domain: str
) -> LabelValues:
    found: LabelValues = {}
    after = ""
    while True:
        clicks = await _count_links(tx, subject, days, partial_days, after)
        for name, counts in (await sum_labels(tx, clicks, shared_domain=shared_domain)).items():
            found[name] = found[name] + counts if name in found else counts
        if len(clicks) < _LINKS:
            return found
        after = max(clicks)


async def _count_links(
    tx: Tx, subject: Subject, days: Sequence[int], partial_days: Sequence[SignedSlice], after: str
) -> dict[str, int]:
    """Return the clicks of the next links, in the order of their hex digits."""
    counts: Any = select(_dimensions.value, _dimensions.clicks).where(
        in_values(tx, _dimensions.day, days),
        _dimensions.subject_id == subject.id,
        _dimensions.dimension == DIMENSIONS["link"],
        _dimensions.value > after,
    )
    if partial_days:
        counts = union_all(counts, partial_count_queries(tx, subject, partial_days)["link"])
    value, count = counts.subquery().c
    query = select(value, func.sum(count)).where(value > after).group_by(value).order_by(value).limit(_LINKS)
    return {link: int(total) for link, total in await tx.execute(query)}


async def rank_values(
    tx: Tx, subject: Subject, days: Sequence[int], partial: ValueCounts | Sequence[SignedSlice], limit: int
) -> RankedValues:
    """Return the first values of each list, and all of AGENT: of `days` from totals, plus those of partial days.

    `partial`: their counts, or the slices, which are then counted from click rows.

    A list has a statement of its own, so that a database keeps only its beginning: an account can have 100,000 links.
    """
    matches_subject = in_values(tx, _dimensions.day, days), _dimensions.subject_id == subject.id
    of_partial_days = partial_count_queries(tx, subject, partial)
    by_code_point = "C" if tx.dialect.name == "postgresql" else "BINARY"
    lists = []
    for name in subject.dimensions:
        counts: Any = select(_dimensions.value, _dimensions.clicks).where(
            *matches_subject, _dimensions.dimension == DIMENSIONS[name]
        )
        if name in of_partial_days:
            counts = union_all(counts, of_partial_days[name])
        value, count = counts.subquery().c
        total = func.sum(count).label("total")
        sums = select(literal(name).label("dimension"), value.label("value"), total).group_by(value).having(total > 0)
        if name != "agent":
            sums = sums.order_by(total.desc(), value.collate(by_code_point)).limit(limit)
        lists.append(select(sums.subquery()))
    sums_by_value = await read_counts(tx, union_all(*lists))
    if isinstance(partial, Mapping):
        for part in AGENT:
            sums_by_value[part].update(partial[part])
    return rank(sums_by_value)


async def sum_values(
    tx: Tx, subject: Subject, days: Collection[int], values: Mapping[Dimension, Collection[str] | None]
) -> ValueCounts:
    """Sum up the clicks of these values on these days. None: all values of the dimension."""
    parameters: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days])}
    parameters |= {name: json.dumps([*selected]) for name, selected in values.items() if selected is not None}
    return await read_counts(tx, _sums(tx.dialect.name, tuple(values), frozenset(parameters)), parameters)


async def find_values_with_clicks(
    tx: Tx, subject: Subject, days: Collection[int], min_clicks: Mapping[Dimension, int], limit: int
) -> dict[Dimension, set[str]]:
    """Return values that have at least `min_clicks` on one of the days, from `limit` rows of each dimension."""
    parameters: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days]), "limit": limit} | {**min_clicks}
    values: dict[Dimension, set[str]] = {name: set() for name in min_clicks}
    for name, value in await tx.execute(_values_with_clicks(tx.dialect.name, tuple(min_clicks)), parameters):
        values[name].add(value)
    return values


def rank(counts: Mapping[str, Mapping[str, int]]) -> RankedValues:
    return {
        name: sorted(((value, count) for value, count in values.items() if count > 0), key=_most_clicks_first)
        for name, values in counts.items()
    }


def _most_clicks_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


@lru_cache
def _sums(dialect: str, names: Sequence[Dimension], parameters: Collection[str]) -> TextClause:
    lists = []
    for name in names:
        values = f" AND value {_IN_VALUES[dialect].format(name=name)}" if name in parameters else ""
        lists.append(f"SELECT '{name}', value, SUM(clicks) {_from_dimension(dialect, name)}{values} GROUP BY value")
    return text(" UNION ALL ".join(lists)).bindparams(bindparam("subject", type_=Id))


@lru_cache
def _values_with_clicks(dialect: str, names: Sequence[Dimension]) -> TextClause:
    lists = (
        f"SELECT '{name}', value {_from_dimension(dialect, name)} AND clicks >= :{name} LIMIT :limit" for name in names
    )
    query = " UNION ALL ".join(f"SELECT * FROM ({values}) AS values_of_dimension" for values in lists)
    return text(query).bindparams(bindparam("subject", type_=Id))


def _from_dimension(dialect: str, name: Dimension) -> str:
    conditions = f"day {_IN_DAYS[dialect]} AND subject_id = :subject AND dimension = {DIMENSIONS[name]}"
    return f"FROM click_dimensions WHERE {conditions}"


# The cache's refresher, in the worker.

_totals = click_totals.c
_TOTALS_COLUMNS = _totals[tuple(StatsTotals.__dataclass_fields__)]


async def totals_by_day(tx: Tx, subject: UUID, days: Sequence[int]) -> dict[int, StatsTotals]:
    query = select(_totals.day, *_TOTALS_COLUMNS).where(in_values(tx, _totals.day, days), _totals.subject_id == subject)
    rows = await tx.execute(query.where(_totals.quarter == WHOLE_DAY).order_by(_totals.day))
    return {row[0]: StatsTotals(*row[1:]) for row in rows}


_FIRST = UUID(int=0)

StaleCacheEntry = tuple[UUID, CacheKey, CachedDays]
"""(account, where to cache it, the days to sum up)"""


class StatsCacheRefresher:
    """Runs hourly: by then days with late clicks are refreshed."""

    def __init__(self, db: Database, *, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._after = _FIRST
        self._stale: deque[StaleCacheEntry] = deque()
        """Entries of one account. Those lost in an outage are found again in the next hour."""

    async def step(self) -> bool:
        """Refresh one entry, or check one account. Return False when all are checked."""
        if self._stale:
            await self._refresh(*self._stale.popleft())
            return True
        async with self._db.read() as tx:
            account = await accounts.find_next_account_id(tx, self._after)
        if account is None:
            self._after = _FIRST
            return False
        self._after = account
        await self._check(account)
        return True

    async def _check(self, account: UUID) -> None:
        today = day_of(self._clock())
        async with self._db.read() as tx:
            cached, outdated = await find_cached_days(tx, account), await _find_outdated_labels(tx, account)
            due: dict[CacheKey, CachedDays] = {}
            known_days = (await find_known_days(tx)).days
            for subject in await _find_busy(tx, account):
                totals = await totals_by_day(tx, subject, known_days)
                to_cache = choose_days_to_cache({day: total.clicks for day, total in totals.items()}, today)
                due |= {(subject, time_range): days for time_range, days in to_cache.items()}
        if obsolete := cached.keys() - due.keys():
            async with self._db.write() as tx:
                key = tuple_(_cache.subject_id, _cache.time_range)
                await tx.execute(delete(top_values_cache).where(key.in_(obsolete)))
        stale = {key: days for key, days in due.items() if cached.get(key) != days or key in outdated}
        self._stale += [(account, key, days) for key, days in stale.items()]

    async def _refresh(self, account: UUID, key: CacheKey, to_cache: CachedDays) -> None:
        (subject_id, time_range), attempt = key, new_id()
        subject = Subject(account, None if subject_id == account else subject_id)
        with contextlib.suppress(IntegrityError):  # the account has just been deleted
            async with self._db.write() as tx:
                await _begin_attempt(tx, account, key, to_cache, attempt)
        async with self._db.read() as tx:
            days = [day for day in (await find_known_days(tx)).days if to_cache.has(day)]
            totals = await totals_by_day(tx, subject_id, days)
            values: dict[str, Any] = await rank_values(tx, subject, list(totals), (), CACHED_COUNT)
            if subject.link_id is None:
                labels = await sum_label_values(tx, subject, list(totals), (), shared_domain="")
                if max(map(len, labels.values())) <= _MAX_LABELS:
                    changes = await accounts.count_label_changes(tx, account)
                    lists = {name: list(counts.items()) for name, counts in labels.items()}
                    values["labels"] = {"changes": changes, "lists": lists}
        row = {
            "first_day": to_cache.first_day,
            "last_day": to_cache.last_day,
            "clicks": sum(total.clicks for total in totals.values()),
            "top_values": json.dumps(values, ensure_ascii=False),
        }
        statement = update(top_values_cache).where(_cache.subject_id == subject_id, _cache.time_range == time_range)
        async with self._db.write() as tx:
            await tx.execute(statement.where(_cache.attempt == attempt).values(row))


async def _find_busy(tx: Tx, account: UUID) -> list[UUID]:
    """Return the account and its links, if they have many clicks."""
    if await links.count_clicks(tx, account) <= CACHE_THRESHOLD:
        return []
    return [account, *await links.find_busy(tx, account, CACHE_THRESHOLD)]


def choose_days_to_cache(clicks: Mapping[int, int], today: int) -> dict[str, CachedDays]:
    """Return days with many clicks by time range, each with more clicks than the one before.

    `clicks`: by day, in order.
    """
    chosen: dict[str, CachedDays] = {}
    most, past = CACHE_THRESHOLD, [day for day in list(clicks)[1:] if day < today]
    for time_range, start in _first_days(today).items():
        days = [day for day in past if day >= start]
        count = sum(clicks[day] for day in days)
        if count > most:
            chosen[time_range], most = CachedDays(days[0], days[-1], count), count
    return chosen


def _first_days(today: int) -> dict[str, int]:
    """Return the first day of each time range, a day late: west of UTC, the range begins within a UTC day.

    All time, too, begins a day after the first click.
    """
    date = (EPOCH + timedelta(days=today)).date()
    month = (date.replace(year=date.year - 1, day=1) + timedelta(days=31)).replace(day=1)
    year = (month - EPOCH.date()).days
    return {"7d": today - 5, "30d": today - 28, "90d": today - 88, "12m": year + 1, "all": 0}


async def _begin_attempt(tx: Tx, account: UUID, key: CacheKey, days: CachedDays, attempt: UUID) -> None:
    """Set the row's attempt. Its values stay in use until there are new ones."""
    await write.lock(tx)  # or a concurrent correction would not see the row, and not delete it
    row = {"subject_id": key[0], "time_range": key[1], "account_id": account, "attempt": attempt}
    empty = {"first_day": days.first_day, "last_day": days.last_day, "clicks": 0, "top_values": "{}"}
    statement = upsert(tx, top_values_cache).values(row | empty)
    await tx.execute(
        statement.on_conflict_do_update(
            index_elements=[_cache.subject_id, _cache.time_range], set_={"attempt": attempt}
        )
    )
