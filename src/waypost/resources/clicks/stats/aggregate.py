"""Adds up a batch of clicks in memory, by link and account. Pure: `sql.write` merges the sums into the tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

from waypost.resources.clicks.model import DIMENSIONS, HUMAN, KINDS, MAX_LINK_ROWS, QUARTERS_PER_DAY, WHOLE_DAY, Click

SubjectId = bytes
"""The UUID of a link or an account."""

VisitorKey = tuple[int, int]
"""(day, visitor id). The id is a hash that includes the account: all links of a visitor are of one account."""

VisitorBits = dict[SubjectId, int]
"""The day's quarters with visits of one visitor, as bits, by link."""

VisitorRow = tuple[int, int, SubjectId, int]
"""(day, visitor id, subject, bits)"""

StatsRow = tuple[Any, ...]

FirstSeenCounts = tuple[int, int, int, int, int, int]
"""(visitors, new_in_15, new_in_30, new_in_45, firsts, lasts) of one quarter."""

_SEEN_ONCE: FirstSeenCounts = (1, 1, 1, 1, 1, 1)
_NO_ROWS: VisitorBits = {}
_NOT_SEEN: FirstSeenCounts = (0, 0, 0, 0, 0, 0)

# Indexes in a row of totals: the columns of `click_totals` after its key, and one for counting only: new visitors of a
# single quarter, who add 1 to each count of visitors.
_KIND_INDEX = {kind: index for index, kind in enumerate(KINDS)}
_CLICKS, _SCANS, _VISITORS, _FIRSTS, _FIRST_AT, _LAST_AT, _NEW_VISITORS = 0, 4, 5, 9, 11, 12, 13
_VISITOR_COLUMNS = 6
_EMPTY_ROW = [0] * 11 + [None, None, 0]


@dataclass(slots=True)
class SubjectDay:
    quarters: dict[int, list[Any]] = field(default_factory=dict)
    countries: dict[str, int] = field(default_factory=dict)
    referrers: dict[str, int] = field(default_factory=dict)
    agents: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)

    def quarter_row(self, quarter: int) -> list[Any]:
        row = self.quarters.get(quarter)
        if row is None:
            row = self.quarters[quarter] = _EMPTY_ROW[:]
        return row


@dataclass(slots=True)
class Aggregate:
    days: dict[tuple[int, SubjectId], SubjectDay] = field(default_factory=lambda: defaultdict(SubjectDay))
    visitors: dict[VisitorKey, VisitorBits] = field(default_factory=dict)
    sorted_visitors: list[VisitorKey] = field(default_factory=list)
    """The keys of `visitors` in order, set when all clicks are added."""
    links: dict[SubjectId, SubjectId] = field(default_factory=dict)
    """The account of each link with clicks."""

    @classmethod
    def of(cls, clicks: Iterable[Click]) -> "Aggregate":
        result = cls()
        result._add(clicks)
        result.sorted_visitors = sorted(result.visitors)
        return result

    def _add(self, clicks: Iterable[Click]) -> None:
        """Inlined, because these are the busiest lines of the worker: calls would take longer than what they do."""
        days, visitors = self.days, self.visitors
        for click in clicks:
            _, account, link, at, day, quarter, kind, _, is_scan, _, country, visitor, *_ = click
            link_stats, account_stats = days[day, link], days[day, account]
            if kind != HUMAN:
                index = _KIND_INDEX[kind]
                link_stats.quarter_row(quarter)[index] += 1
                account_stats.quarter_row(quarter)[index] += 1
                continue
            bit = 1 << quarter
            seen = visitors.get((day, visitor))
            if seen is None:
                visitors[day, visitor] = {link: bit}
            else:
                seen[link] = seen.get(link, 0) | bit
            self.links[link] = account
            name = link.hex()
            account_stats.links[name] = account_stats.links.get(name, 0) + 1
            referrer, target = click.referrer, click.target
            if target:
                link_stats.targets[target] = link_stats.targets.get(target, 0) + 1
            agent = f"{click.device}\t{click.browser}\t{click.platform}"
            for subject in (link_stats, account_stats):
                row = subject.quarters.get(quarter)
                if row is None:
                    row = subject.quarter_row(quarter)
                row[_CLICKS] += 1
                if is_scan:
                    row[_SCANS] += 1
                if row[_FIRST_AT] is None or at < row[_FIRST_AT]:
                    row[_FIRST_AT] = at
                if row[_LAST_AT] is None or at > row[_LAST_AT]:
                    row[_LAST_AT] = at
                subject.countries[country] = subject.countries.get(country, 0) + 1
                subject.referrers[referrer] = subject.referrers.get(referrer, 0) + 1
                subject.agents[agent] = subject.agents.get(agent, 0) + 1

    def add_visitors(self, stored: Mapping[VisitorKey, VisitorBits]) -> list[VisitorRow]:
        """Count the visitors. Return the rows of those who are new or came in further quarters.

        `stored`: all rows of these visitors in the database; of one who has a row of the account, that one and those
        of the links of this batch.
        """
        changed: list[VisitorRow] = []
        for key in self.sorted_visitors:
            (day, visitor), bits, rows = key, self.visitors[key], stored.get(key, _NO_ROWS)
            before = 0
            for earlier in rows.values():
                before |= earlier
            after, count = before, len(rows)
            for link, new in bits.items():
                old = rows.get(link, 0)
                count += not old
                after |= new
                if old | new != old:
                    changed.append((day, visitor, link, old | new))
                    self._count_visitor(self.days[day, link], old, old | new)
            account = self.links[link]
            if after != before:
                self._count_visitor(self.days[day, account], before, after)
            if (count > MAX_LINK_ROWS or account in rows) and rows.get(account) != after:
                changed.append((day, visitor, account, after))
        return changed

    def subjects_of(self, visitor: VisitorKey) -> set[SubjectId]:
        """Return the links with clicks of this visitor, and their account."""
        visited = self.visitors[visitor]
        return {*visited, *map(self.links.__getitem__, visited)}

    def _count_visitor(self, subject: SubjectDay, before: int, after: int) -> None:
        if not before and not after & (after - 1):  # nearly all: a new visitor of one quarter
            subject.quarters[after.bit_length() - 1][_NEW_VISITORS] += 1
            return
        for quarter, changes in changes_per_quarter(before, after):
            row = subject.quarter_row(quarter)
            for index, change in enumerate(changes, _VISITORS):
                row[index] += change

    def clicks_per_link(self) -> Iterator[tuple[SubjectId, SubjectId, int]]:
        """Yield (link, account, clicks)."""
        for link, clicks in self._sum_per_link(_CLICKS).items():
            yield link, self.links[link], clicks

    def scans_per_link(self) -> dict[SubjectId, int]:
        return {link: scans for link, scans in self._sum_per_link(_SCANS).items() if scans}

    def _sum_per_link(self, index: int) -> dict[SubjectId, int]:
        counts: dict[SubjectId, int] = {}
        for (_, id_), subject in self.days.items():
            if id_ in self.links:
                for row in subject.quarters.values():
                    counts[id_] = counts.get(id_, 0) + row[index]
        return counts

    def totals_rows(self) -> list[StatsRow]:
        """Return rows of `click_totals`, in the order of their keys."""
        rows: list[StatsRow] = []
        for (day, id_), subject in sorted(self.days.items(), key=_key):
            quarters = [(quarter, _with_new_visitors(row)) for quarter, row in sorted(subject.quarters.items())]
            rows.append((day, id_, WHOLE_DAY, *_sum_day([row for _, row in quarters])))
            rows += [(day, id_, quarter, *row) for quarter, row in quarters]
        return rows

    def dimension_rows(self) -> list[StatsRow]:
        """Return rows of `click_dimensions`, in the order of their keys."""
        rows: list[StatsRow] = []
        for (day, id_), subject in sorted(self.days.items(), key=_key):
            counts = (subject.countries, subject.referrers, subject.agents, subject.links, subject.targets)
            for dimension, count in zip(DIMENSIONS.values(), counts, strict=True):
                values = sorted(count.items()) if len(count) > 1 else count.items()
                rows += [(day, id_, dimension, value, clicks) for value, clicks in values]
        return rows


_key = itemgetter(0)


def _with_new_visitors(row: list[Any]) -> list[Any]:
    if new := row[_NEW_VISITORS]:
        return [*row[:_VISITORS], *(count + new for count in row[_VISITORS:_FIRST_AT]), *row[_FIRST_AT:_NEW_VISITORS]]
    return row[:_NEW_VISITORS]


def _sum_day(rows: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Sum up the quarters of a day. Each visitor counts once, in every count of visitors."""
    if len(rows) == 1:
        (row,) = rows
        return *row[:_VISITORS], *[row[_FIRSTS]] * _VISITOR_COLUMNS, *row[_FIRST_AT:]
    columns = list(zip(*rows, strict=True))
    first = min(filter(None, columns[_FIRST_AT]), default=None)
    last = max(filter(None, columns[_LAST_AT]), default=None)
    return *map(sum, columns[:_VISITORS]), *[sum(columns[_FIRSTS])] * _VISITOR_COLUMNS, first, last


def changes_per_quarter(before: int, after: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    """Return pairs of a quarter and what to add there when a visitor is seen in further quarters.

    Both are bits, and `after` has all of `before`.

    A visitor is one within a UTC day. Each quarter counts how many of its visitors were not seen before: within the
    last 15, 30 or 45 minutes, on the day; and how many were not seen again on the day. Visitors of a day or its
    beginning are the sum of `firsts`, of its end the sum of `lasts`, and of an hour from any quarter on the sum of
    `visitors` of that one, `new_in_15` of the next, `new_in_30` and `new_in_45` of the last two: each visitor is in
    exactly one of the terms.
    """
    if before == after:
        return ()
    old = dict(_first_seen_counts(before)) if before else {}
    changes = []
    for quarter, counts in _first_seen_counts(after):
        added = tuple(new - counted for new, counted in zip(counts, old.get(quarter, _NOT_SEEN), strict=True))
        if any(added):
            changes.append((quarter, added))
    return tuple(changes)  # type: ignore[arg-type]  # tuples of six, as `counts` is


@lru_cache(1_000)  # nearly all visitors have one or two quarters, which are few combinations
def _first_seen_counts(bits: int) -> tuple[tuple[int, FirstSeenCounts], ...]:
    if not bits & (bits - 1):
        return ((bits.bit_length() - 1, _SEEN_ONCE),)
    return tuple((quarter, _count_quarter(bits, quarter)) for quarter in range(QUARTERS_PER_DAY) if bits >> quarter & 1)


def _count_quarter(bits: int, quarter: int) -> FirstSeenCounts:
    earlier = bits & ((1 << quarter) - 1)
    since = quarter - earlier.bit_length() + 1 if earlier else QUARTERS_PER_DAY  # 1: seen in the one before
    return 1, int(since > 1), int(since > 2), int(since > 3), int(not earlier), int(not bits >> quarter + 1)
