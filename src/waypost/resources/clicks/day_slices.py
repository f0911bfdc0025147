"""Parts of single UTC days, and which table can tell their figures. Pure.

Figures are added up by quarters of an hour, and visitors so that they can be counted over a whole UTC day, its
beginning, its end, or an hour. Any other part has to be counted from the clicks themselves.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from waypost.kit.clock import DAY, QUARTER, from_microseconds, microseconds

_LAST = 95


class Part(NamedTuple):
    label: int
    """Whose figures it adds to."""
    day: int
    """Since 1970, in UTC."""
    begin: int
    end: int
    """Microseconds since 1970; the end is left out."""

    @property
    def first(self) -> int:
        """The first quarter it touches."""
        return (self.begin - self.day * DAY) // QUARTER

    @property
    def last(self) -> int:
        return (self.end - 1 - self.day * DAY) // QUARTER

    @property
    def is_day(self) -> bool:
        return self.end - self.begin == DAY

    @property
    def is_added_up(self) -> bool:
        """Whether the quarters' figures tell its own exactly, visitors included."""
        is_of_quarters = self.begin % QUARTER == 0 and self.end % QUARTER == 0
        return is_of_quarters and (self.first == 0 or self.last == _LAST or self.last - self.first < 4)

    @property
    def span(self) -> tuple[datetime, datetime]:
        return from_microseconds(self.begin), from_microseconds(self.end)


Edge = tuple[int, Part]
"""(1, what is to be counted) or (-1, what is to be taken off its whole day again)"""


@dataclass(slots=True)
class Plan:
    """Parts by where their figures come from."""

    days: list[Part] = field(default_factory=list)
    quarters: list[Part] = field(default_factory=list)
    clicks: list[Part] = field(default_factory=list)


def day_of(at: datetime) -> int:
    return microseconds(at) // DAY


def whole(day: int, label: int = 0) -> Part:
    return Part(label, day, day * DAY, (day + 1) * DAY)


def edge(part: Part) -> Edge:
    """The shorter of both ways: clicks of half a day at most are looked at."""
    midnight, next_midnight = part.day * DAY, (part.day + 1) * DAY
    if part.begin == midnight and part.end - midnight > DAY // 2:
        return -1, Part(part.label, part.day, part.end, next_midnight)
    if part.end == next_midnight and next_midnight - part.begin > DAY // 2:
        return -1, Part(part.label, part.day, midnight, part.begin)
    return 1, part


def parts(label: int, begin: int, until: int, days: Sequence[int]) -> Iterator[Part]:
    """One for each of `days` (in order) that the stretch of time meets."""
    for index in range(bisect_left(days, begin // DAY), len(days)):
        day = days[index]
        if day * DAY >= until:
            return
        yield Part(label, day, max(begin, day * DAY), min(until, (day + 1) * DAY))


def plan(all_parts: Iterable[Part], kept_since: int) -> Plan:
    """Of days before `kept_since` clicks are gone: their parts are taken as wide as the quarters they touch."""
    made = Plan()
    for part in all_parts:
        if part.is_day:
            made.days.append(part)
        elif part.is_added_up or part.day < kept_since:
            made.quarters.append(part)
        else:
            made.clicks.append(part)
    return made
