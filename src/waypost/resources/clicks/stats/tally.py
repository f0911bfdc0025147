"""Adds up the clicks that filters select, which come in batches of some thousands. Pure."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from waypost.kit.clock import DAY, QUARTER
from waypost.resources.clicks.days import TOTAL_BUCKET, DaySlice
from waypost.resources.clicks.model import LABELS, QUARTERS_PER_DAY, LabelName, ListName, StatsTotals

SEPARATOR = "\x1e"
"""Between the values of a column in a batch."""
PROFILE = ("country", "device", "browser", "platform")
"""The parts of a value of the column `profile`, separated by tabs: mostly the same few."""

MAX_VALUES = 250_000
"""Of a column. Visitors can invent any number of referrers."""


class TooManyClicks(Exception):
    """To count the clicks, or their values, would take too long or too much memory."""


@dataclass(slots=True)
class Counted:
    """What clicks add up to."""

    total: StatsTotals = field(default_factory=StatsTotals)
    """Without visitors."""
    clicks: Counter[int] = field(default_factory=Counter)
    """By quarter of an hour since 1970, like the scans."""
    scans: Counter[int] = field(default_factory=Counter)
    visitors: Counter[int] = field(default_factory=Counter)
    """By bucket, and of TOTAL_BUCKET."""
    values: dict[str, Counter[str]] = field(default_factory=dict)
    """Clicks by value, of each list. Links are named by 32 hex digits."""
    visitors_of: dict[str, Counter[str]] = field(default_factory=dict)
    """Visitors by value, of each list, if they were counted."""

    def add_quarters(self, totals: Iterable[tuple[int, int, StatsTotals]], slices: Sequence[DaySlice]) -> None:
        """Add those that are in the slices. `totals`: with day and quarter."""
        by_day = {each.day: each for each in slices}
        for day, quarter, total in totals:
            if by_day[day].first_quarter <= quarter <= by_day[day].last_quarter:
                self.total.add(total)
                self.clicks[day * QUARTERS_PER_DAY + quarter] += total.clicks
                self.scans[day * QUARTERS_PER_DAY + quarter] += total.scans

    def add(self, other: "Counted") -> None:
        """Add clicks of other days."""
        self.total.add(other.total)
        for own, added in ((self.clicks, other.clicks), (self.scans, other.scans), (self.visitors, other.visitors)):
            own.update(added)
        for name, counts in other.values.items():
            self.values.setdefault(name, Counter()).update(counts)


LabelsOf = Mapping[str, Mapping[LabelName, Collection[str]]]
"""The values of each list of labels, by the link's 32 hex digits."""


class ClickColumns(NamedTuple):
    """Clicks of whole days, or of a part of one day. A column has a text for each click of a person."""

    quarters: list[str]
    visitors: list[str]
    scans: list[str]
    """The quarters of scans."""
    columns: Mapping[str, list[str]]
    """`profile`, `referrer`, `target` and `link`, as far as lists need them."""
    total: StatsTotals
    """Without visitors."""


def bucket_of(starts: Sequence[int], quarter: int) -> int:
    """Return the bucket that a quarter of an hour is in. `starts`: the microseconds at which buckets begin.

    Only the first one can begin within a quarter.
    """
    return max(0, bisect_right(starts, quarter * QUARTER) - 1)


class Tally:
    """What to count, and the sums. `limit`: of values that are needed of each list."""

    def __init__(
        self, starts: Sequence[int], lists: Collection[ListName], shared_domain: str, *, limit: int, has_visitors: bool
    ) -> None:
        """`starts`: of the buckets. `has_visitors`: whether the visitors of each value are counted."""
        self.starts = starts
        self.lists = lists
        self.shared_domain = shared_domain
        self.limit = limit
        self.has_visitors = has_visitors
        needed = {"profile": PROFILE, "referrer": ("referrer",), "target": ("target",), "link": ("link", *LABELS)}
        self.columns = [name for name, of_lists in needed.items() if not set(lists).isdisjoint(of_lists)]
        """Those that batches need."""
        self.needs_labels = has_visitors and not set(lists).isdisjoint(LABELS)
        self._divides_days = any(start % DAY for start in starts[1:])
        self._counted = Counted()
        self._columns: dict[str, Counter[str]] = {}
        self._of_days, self._of_slots = _Distinct(), _Distinct()
        self._of_values: dict[ListName, _Distinct] = {name: _Distinct() for name in lists if has_visitors}

    def add(self, batch: ClickColumns, labels: LabelsOf, *, is_same_day: bool) -> None:
        """`labels`: of the links, needed if visitors are counted. `is_same_day`: as the day of the batch before.

        A visitor is one within a UTC day.
        """
        counted = self._counted
        counted.total.add(batch.total)
        if not is_same_day:
            for distinct in (self._of_days, self._of_slots, *self._of_values.values()):
                distinct.forget()
        quarters = Counter(batch.quarters)
        counted.clicks.update({int(text): count for text, count in quarters.items()})
        counted.scans.update(map(int, batch.scans))
        days = {text: int(text) // QUARTERS_PER_DAY for text in quarters}
        self._count_visitors(batch, days)
        for name, texts in batch.columns.items():
            counts = self._columns.setdefault(name, Counter())
            counts.update(texts)
            if len(counts) > MAX_VALUES:
                raise TooManyClicks
        if self._of_values:
            visitors = list(zip(map(days.__getitem__, batch.quarters), batch.visitors, strict=True))
            for name, distinct in self._of_values.items():
                new = distinct.count_new(_pairs(name, batch.columns, visitors, labels))
                counted.visitors_of.setdefault(name, Counter()).update(new)

    def finish(self) -> Counted:
        """Return the sums, without the lists of labels."""
        values, columns = self._counted.values, self._columns
        for profile, count in columns.pop("profile", {}).items():
            for name, text in zip(PROFILE, profile.split("\t"), strict=True):
                if name in self.lists:
                    values.setdefault(name, Counter())[text] += count
        values |= columns
        for of_values in (values, self._counted.visitors_of):
            of_values.get("target", Counter()).pop("", None)
        return self._counted

    def _count_visitors(self, batch: ClickColumns, days: Mapping[str, int]) -> None:
        visitors = self._counted.visitors
        of_days = self._of_days.count_new(zip(map(days.__getitem__, batch.quarters), batch.visitors, strict=True))
        visitors[TOTAL_BUCKET] += of_days.total()
        if not self.starts:
            return
        if not self._divides_days:
            for day, count in of_days.items():
                visitors[bucket_of(self.starts, day * QUARTERS_PER_DAY)] += count
            return
        slots = {text: (bucket_of(self.starts, int(text)), day) for text, day in days.items()}
        of_slots = self._of_slots.count_new(zip(map(slots.__getitem__, batch.quarters), batch.visitors, strict=True))
        for (bucket, _), count in of_slots.items():
            visitors[bucket] += count


class _Distinct:
    """Counts pairs that did not occur before, by their first part."""

    def __init__(self) -> None:
        self._known: set[Any] = set()

    def forget(self) -> None:
        self._known = set()

    def count_new(self, pairs: Iterable[tuple[Any, Any]]) -> Counter[Any]:
        new = set(pairs) - self._known
        self._known |= new
        return Counter(first for first, _ in new)


def _pairs(
    name: ListName, columns: Mapping[str, list[str]], visitors: Sequence[Any], labels: LabelsOf
) -> Iterator[tuple[str, Any]]:
    """Yield value and visitor of each click; for labels, of each of the link's values."""
    if name in PROFILE:
        parts = {text: text.split("\t")[PROFILE.index(name)] for text in set(columns["profile"])}
        return zip(map(parts.__getitem__, columns["profile"]), visitors, strict=True)
    if name in columns:
        return zip(columns[name], visitors, strict=True)
    clicks = zip(columns["link"], visitors, strict=True)
    return ((text, visitor) for link, visitor in clicks for text in labels[link][name])  # type: ignore[index]  # all others are columns
