"""Adds a batch of clicks to the statistics of their links and accounts: counted in memory, then merged into the tables.

Not by SQLAlchemy: each click causes some ten of these rows. The database adds rows to what it has. Nothing is read
first but visitors.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Column, Table

from waypost.database import Tx, bulk, take_advisory_lock
from waypost.resources.clicks.model import (
    DIMENSIONS,
    HUMAN,
    KINDS,
    WHOLE_DAY,
    Click,
    click_dimensions,
    click_totals,
    visitor_days,
)

SubjectId = bytes
"""Of a link's or an account's UUID."""

VisitorKey = tuple[int, int, SubjectId]
"""(day, visitor id, subject): its value is the day's quarters with visits, as bits."""

StatsRow = tuple[Any, ...]

QUARTERS = 96
"""In a day."""

FirstSeenCounts = tuple[int, int, int, int, int, int]
"""(visitors, new_in_15, new_in_30, new_in_45, firsts, lasts) of one quarter."""

_HALF = 48
_MORNING = (1 << _HALF) - 1
_LOCK = 0x776179706F7374  # "waypost"
_BITS = {"morning", "afternoon"}
_TIMES = {
    "first_at": {"sqlite": "min", "postgresql": "least"},
    "last_at": {"sqlite": "max", "postgresql": "greatest"},
}
_ONE: FirstSeenCounts = (1, 1, 1, 1, 1, 1)
_NONE: FirstSeenCounts = (0, 0, 0, 0, 0, 0)

# places in a row of totals: the columns of `click_totals` after its key, and one for counting only: new visitors of one
# quarter, who add 1 to each count of visitors
_OF_KIND = {kind: place for place, kind in enumerate(KINDS)}
_CLICKS, _SCANS, _VISITORS, _FIRSTS, _FIRST_AT, _LAST_AT, _NEW = 0, 4, 5, 9, 11, 12, 13
_VISITOR_COUNTS = 6
_NO_TOTALS = [0] * 11 + [None, None, 0]


@dataclass(slots=True)
class SubjectDay:
    quarters: dict[int, list[Any]] = field(default_factory=dict)
    countries: dict[str, int] = field(default_factory=dict)
    referrers: dict[str, int] = field(default_factory=dict)
    agents: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)

    def totals(self, quarter: int) -> list[Any]:
        row = self.quarters.get(quarter)
        if row is None:
            row = self.quarters[quarter] = _NO_TOTALS[:]
        return row


@dataclass(slots=True)
class Aggregate:
    days: dict[tuple[int, SubjectId], SubjectDay] = field(default_factory=lambda: defaultdict(SubjectDay))
    visitors: dict[VisitorKey, int] = field(default_factory=dict)
    sorted_visitors: list[VisitorKey] = field(default_factory=list)
    """Their keys in order, when all clicks are added."""
    links: dict[SubjectId, SubjectId] = field(default_factory=dict)
    """The account of each link with clicks."""

    @classmethod
    def of(cls, clicks: Iterable[Click]) -> "Aggregate":
        result = cls()
        for click in clicks:
            result.add(click)
        result.sorted_visitors = sorted(result.visitors)
        return result

    def add(self, click: Click) -> None:
        """The busiest lines of the worker: written out, because calls would take longer than what they do."""
        day, quarter, link, account = click.day, click.quarter, click.link_id, click.account_id
        of_link, of_account = self.days[day, link], self.days[day, account]
        if click.kind != HUMAN:
            place = _OF_KIND[click.kind]
            of_link.totals(quarter)[place] += 1
            of_account.totals(quarter)[place] += 1
            return
        bit, visitors, of_both = 1 << quarter, self.visitors, (day, click.visitor_id)
        visitors[*of_both, link] = visitors.get((*of_both, link), 0) | bit
        visitors[*of_both, account] = visitors.get((*of_both, account), 0) | bit
        self.links[link] = account
        name = link.hex()
        of_account.links[name] = of_account.links.get(name, 0) + 1
        at, country, referrer = click.at, click.country, click.referrer
        agent = f"{click.device}\t{click.browser}\t{click.platform}"
        for subject in (of_link, of_account):
            row = subject.totals(quarter)
            row[_CLICKS] += 1
            row[_SCANS] += click.is_scan
            if row[_FIRST_AT] is None or at < row[_FIRST_AT]:
                row[_FIRST_AT] = at
            if row[_LAST_AT] is None or at > row[_LAST_AT]:
                row[_LAST_AT] = at
            subject.countries[country] = subject.countries.get(country, 0) + 1
            subject.referrers[referrer] = subject.referrers.get(referrer, 0) + 1
            subject.agents[agent] = subject.agents.get(agent, 0) + 1

    def add_visitors(self, known: Mapping[VisitorKey, int]) -> dict[VisitorKey, int]:
        """`known`: what the database has of these visitors.

        Returns those who are new or came in further quarters, in the order of their keys.
        """
        changed: dict[VisitorKey, int] = {}
        for visitor in self.sorted_visitors:
            before = known.get(visitor, 0)
            after = before | self.visitors[visitor]
            if after != before:
                changed[visitor] = after
                day, _, subject = visitor
                self._count_visitor(self.days[day, subject], before, after)
        return changed

    def _count_visitor(self, subject: SubjectDay, before: int, after: int) -> None:
        if not before and not after & (after - 1):  # nearly all: a new visitor of one quarter
            subject.quarters[after.bit_length() - 1][_NEW] += 1
            return
        for quarter, changes in count_changes(before, after):
            row = subject.totals(quarter)
            for place, change in enumerate(changes, _VISITORS):
                row[place] += change

    def clicks_of_links(self) -> Iterator[tuple[SubjectId, SubjectId, int]]:
        """(link, account, clicks)"""
        for link, clicks in self._of_links(_CLICKS).items():
            yield link, self.links[link], clicks

    def scans_of_links(self) -> dict[SubjectId, int]:
        return {link: scans for link, scans in self._of_links(_SCANS).items() if scans}

    def _of_links(self, place: int) -> dict[SubjectId, int]:
        counts: dict[SubjectId, int] = defaultdict(int)
        for (_, id_), subject in self.days.items():
            if id_ in self.links:
                counts[id_] += sum(row[place] for row in subject.quarters.values())
        return counts

    def totals(self) -> list[StatsRow]:
        """Rows of `click_totals`, in the order of their keys."""
        rows: list[StatsRow] = []
        for (day, id_), subject in sorted(self.days.items(), key=_key):
            quarters = [(quarter, _with_new(row)) for quarter, row in sorted(subject.quarters.items())]
            rows.append((day, id_, WHOLE_DAY, *_summed([row for _, row in quarters])))
            rows += [(day, id_, quarter, *row) for quarter, row in quarters]
        return rows

    def dimensions(self) -> list[StatsRow]:
        """Rows of `click_dimensions`, in the order of their keys."""
        rows: list[StatsRow] = []
        for (day, id_), subject in sorted(self.days.items(), key=_key):
            counts = (subject.countries, subject.referrers, subject.agents, subject.links)
            for dimension, count in zip(DIMENSIONS.values(), counts, strict=True):
                values = sorted(count.items()) if len(count) > 1 else count.items()
                rows += [(day, id_, dimension, value, clicks) for value, clicks in values]
        return rows


_key = itemgetter(0)


def _with_new(row: list[Any]) -> list[Any]:
    if new := row[_NEW]:
        return [*row[:_VISITORS], *(count + new for count in row[_VISITORS:_FIRST_AT]), *row[_FIRST_AT:_NEW]]
    return row[:_NEW]


def _summed(rows: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Each visitor of a whole day counts once, in every count of visitors."""
    if len(rows) == 1:
        (row,) = rows
        return *row[:_VISITORS], *[row[_FIRSTS]] * _VISITOR_COUNTS, *row[_FIRST_AT:]
    columns = list(zip(*rows, strict=True))
    first = min(filter(None, columns[_FIRST_AT]), default=None)
    last = max(filter(None, columns[_LAST_AT]), default=None)
    return *map(sum, columns[:_VISITORS]), *[sum(columns[_FIRSTS])] * _VISITOR_COUNTS, first, last


def count_changes(before: int, after: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    """What further quarters of a visitor add to the counts of quarters, or take from those known before.

    Both are bits, and `after` has all of `before`. Returns pairs of a quarter and what to add there.

    A visitor is one within a UTC day. Each quarter counts how many of its visitors were not seen before: within the
    last 15, 30 or 45 minutes, on the day; and how many were not seen again on the day. Visitors of a day or its
    beginning are the sum of `firsts`, of its end the sum of `lasts`, and of an hour from any quarter on the sum of
    `visitors` of that one, `new_in_15` of the next, `new_in_30` and `new_in_45` of the last two: each visitor is in
    exactly one of the terms.
    """
    if before == after:
        return ()
    old = dict(_counts(before)) if before else {}
    found = []
    for quarter, counts in _counts(after):
        added = tuple(new - known for new, known in zip(counts, old.get(quarter, _NONE), strict=True))
        if any(added):
            found.append((quarter, added))
    return tuple(found)  # type: ignore[arg-type]  # tuples of six, as `counts` is


@lru_cache(1_000)  # of one or two quarters, as nearly all are, there are few; the others are long
def _counts(bits: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    if not bits & (bits - 1):
        return ((bits.bit_length() - 1, _ONE),)
    return tuple((quarter, _count(bits, quarter)) for quarter in range(QUARTERS) if bits >> quarter & 1)


def _count(bits: int, quarter: int) -> FirstSeenCounts:
    earlier = bits & ((1 << quarter) - 1)
    away = quarter - earlier.bit_length() + 1 if earlier else QUARTERS  # quarters; 1: seen in the one before
    return 1, int(away > 1), int(away > 2), int(away > 3), int(not earlier), int(not bits >> quarter + 1)


async def lock(tx: Tx) -> None:
    """One writer of statistics at a time: which visitors are new depends on what the writer before has committed.

    On SQLite every write is exclusive.
    """
    await take_advisory_lock(tx, _LOCK)


async def add(tx: Tx, aggregate: Aggregate) -> None:
    """The caller holds the lock. Rows come in the order of their keys: neighbours are written together."""
    visitors = aggregate.add_visitors(await _known(tx, aggregate.sorted_visitors))
    rows = [(*visitor, bits & _MORNING, bits >> _HALF) for visitor, bits in visitors.items()]
    await _merge(tx, visitor_days, rows)
    await _merge(tx, click_totals, aggregate.totals())
    await _merge(tx, click_dimensions, aggregate.dimensions())


async def _known(tx: Tx, visitors: Sequence[VisitorKey]) -> dict[VisitorKey, int]:
    rows = await bulk.find(tx, visitor_days, visitors)
    return {(day, visitor, subject): morning | afternoon << _HALF for day, visitor, subject, morning, afternoon in rows}


async def _merge(tx: Tx, table: Table, rows: Sequence[StatsRow]) -> None:
    await bulk.insert(tx, table, rows, on_conflict=_on_conflict(tx.dialect.name, table))


@lru_cache
def _on_conflict(dialect: str, table: Table) -> str:
    key = ", ".join(column.name for column in table.primary_key)
    merged = ", ".join(_merged(dialect, column) for column in table.c if not column.primary_key)
    return f"ON CONFLICT ({key}) DO UPDATE SET {merged}"


def _merged(dialect: str, column: Column[Any]) -> str:
    """The new value of a column of an existing row."""
    name = column.name
    old, new = f"{column.table.name}.{name}", f"excluded.{name}"
    if name in _BITS:
        return f"{name} = {old} | {new}"
    if name not in _TIMES:
        return f"{name} = {old} + {new}"
    if dialect == "postgresql":
        return f"{name} = {_TIMES[name][dialect]}({old}, {new})"
    return f"{name} = {_TIMES[name][dialect]}(ifnull({old}, {new}), ifnull({new}, {old}))"
