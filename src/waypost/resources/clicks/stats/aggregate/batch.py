"""Adds up a batch of clicks, for the link and for the account of each. Pure: what is known already is handed in."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from waypost.resources.clicks.model import DIMENSIONS, HUMAN, KINDS, WHOLE_DAY, Click
from waypost.resources.clicks.stats.aggregate.first_seen import changes

Subject = bytes
"""The bytes of a link's or an account's UUID."""

Visitor = tuple[int, int, Subject]
"""(day, visitor id, subject): when they came, as the bits of the day's quarters."""

Row = tuple[Any, ...]

# places in a row of totals: the columns of `click_totals` behind its key, and one that is for counting only
_OF_KIND = {kind: place for place, kind in enumerate(KINDS)}
_CLICKS, _SCANS, _MARKS, _FIRSTS, _FIRST, _LAST, _FRESH = 0, 4, 5, 9, 11, 12, 13
_OF_VISITORS = 6
_NO_TOTALS = [0] * 11 + [None, None, 0]


@dataclass(slots=True)
class Day:
    """Of one subject."""

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
class Tally:
    days: dict[tuple[int, Subject], Day] = field(default_factory=lambda: defaultdict(Day))
    visitors: dict[Visitor, int] = field(default_factory=dict)
    sorted_visitors: list[Visitor] = field(default_factory=list)
    """The keys of these, in order, when all clicks are added."""
    links: dict[Subject, Subject] = field(default_factory=dict)
    """Those of the subjects that are links with clicks, and the account of each."""

    def add(self, click: Click) -> None:
        """The busiest lines of the worker: written out, because a call takes longer than what it would name."""
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
        for figures in (of_link, of_account):
            row = figures.totals(quarter)
            row[_CLICKS] += 1
            row[_SCANS] += click.is_scan
            if row[_FIRST] is None or at < row[_FIRST]:
                row[_FIRST] = at
            if row[_LAST] is None or at > row[_LAST]:
                row[_LAST] = at
            figures.countries[country] = figures.countries.get(country, 0) + 1
            figures.referrers[referrer] = figures.referrers.get(referrer, 0) + 1
            figures.agents[agent] = figures.agents.get(agent, 0) + 1

    def add_visitors(self, known: Mapping[Visitor, int]) -> dict[Visitor, int]:
        """`known`: what the database has of these visitors.

        Returns those who are new or came in further quarters, in the order of their keys.
        """
        changed: dict[Visitor, int] = {}
        for visitor in self.sorted_visitors:
            bits = self.visitors[visitor]
            before = known.get(visitor, 0)
            after = before | bits
            if after != before:
                changed[visitor] = after
                day, _, subject = visitor
                self._add_marks(self.days[day, subject], before, after)
        return changed

    def _add_marks(self, figures: Day, before: int, after: int) -> None:
        if not before and not after & (after - 1):  # nearly all: a visitor of one quarter, who has each of the marks
            figures.quarters[after.bit_length() - 1][_FRESH] += 1
            return
        for quarter, marks in changes(before, after):
            row = figures.totals(quarter)
            for place, mark in enumerate(marks, _MARKS):
                row[place] += mark

    def clicks_of_links(self) -> Iterator[tuple[Subject, Subject, int]]:
        """(link, account, clicks)"""
        for link, clicks in self._of_links(_CLICKS).items():
            yield link, self.links[link], clicks

    def scans_of_links(self) -> dict[Subject, int]:
        return {link: scans for link, scans in self._of_links(_SCANS).items() if scans}

    def _of_links(self, place: int) -> dict[Subject, int]:
        counts: dict[Subject, int] = defaultdict(int)
        for (_, subject), figures in self.days.items():
            if subject in self.links:
                counts[subject] += sum(row[place] for row in figures.quarters.values())
        return counts

    def totals(self) -> list[Row]:
        """Rows of `click_totals`, in the order of their keys."""
        rows: list[Row] = []
        for (day, subject), figures in sorted(self.days.items(), key=_key):
            quarters = [(quarter, _counted(row)) for quarter, row in sorted(figures.quarters.items())]
            rows.append((day, subject, WHOLE_DAY, *_summed([row for _, row in quarters])))
            rows += [(day, subject, quarter, *row) for quarter, row in quarters]
        return rows

    def dimensions(self) -> list[Row]:
        """Rows of `click_dimensions`, in the order of their keys."""
        rows: list[Row] = []
        for (day, subject), figures in sorted(self.days.items(), key=_key):
            counts = (figures.countries, figures.referrers, figures.agents, figures.links)
            for dimension, count in zip(DIMENSIONS.values(), counts, strict=True):
                values = sorted(count.items()) if len(count) > 1 else count.items()
                rows += [(day, subject, dimension, value, clicks) for value, clicks in values]
        return rows


_key = itemgetter(0)


def _counted(row: list[Any]) -> list[Any]:
    if fresh := row[_FRESH]:
        return [*row[:_MARKS], *(mark + fresh for mark in row[_MARKS:_FIRST]), *row[_FIRST:_FRESH]]
    return row[:_FRESH]


def _summed(rows: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Of a whole day's visitors each is new, in every sense."""
    if len(rows) == 1:
        (row,) = rows
        return *row[:_MARKS], *[row[_FIRSTS]] * _OF_VISITORS, *row[_FIRST:]
    columns = list(zip(*rows, strict=True))
    first, last = min(filter(None, columns[_FIRST]), default=None), max(filter(None, columns[_LAST]), default=None)
    return *map(sum, columns[:_MARKS]), *[sum(columns[_FIRSTS])] * _OF_VISITORS, first, last


def tally(clicks: Iterable[Click]) -> Tally:
    added = Tally()
    for click in clicks:
        added.add(click)
    added.sorted_visitors = sorted(added.visitors)
    return added
