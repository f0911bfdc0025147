"""Figures of a link or an account over a period. All of them are of one snapshot, so they agree with each other."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import DAY, from_microseconds, microseconds
from waypost.resources import links
from waypost.resources.clicks.day_slices import Part, Plan, day_of, edge, parts, plan
from waypost.resources.clicks.days import Known, known
from waypost.resources.clicks.stats.query import Asked
from waypost.resources.clicks.stats.read import top_values, totals
from waypost.resources.clicks.stats.read.totals import Figures
from waypost.resources.clicks.stats.read.values import Ranked
from waypost.resources.clicks.subject import Subject

Span = tuple[datetime, datetime]

_TOTAL = -1
"""The label of the whole period; an entry's is its place in the series."""


@dataclass(frozen=True, slots=True)
class Stats:
    total: Figures
    series: list[Figures]
    """One for each of the entries that were asked for."""
    values: Ranked
    """Empty where there are more clicks than `most`: values of all these would take longest to add up."""
    names: dict[UUID, tuple[str, str]]
    """Short URL and title of the top links that are there."""
    before: Figures | None = None
    """Of the stretch of time that was to be compared with."""


async def read(
    tx: Tx,
    subject: Subject,
    asked: Asked,
    *,
    shared_domain: str,
    now: datetime,
    before: Span | None = None,
    most: int | None = None,
) -> Stats:
    """An account's with the clicks of its deleted links. Whose a link is, is for the caller to know."""
    days = await known(tx)
    total, series, values = await _read(tx, subject, asked, now, days, most)
    ids = [UUID(value) for value, _ in values.get("link", ())]
    names = await links.find_names(tx, ids, shared_domain=shared_domain) if ids else {}
    return Stats(total, series, values, names, await _total(tx, subject, before, days))


async def _total(tx: Tx, subject: Subject, span: Span | None, days: Known) -> Figures | None:
    if span is None:
        return None
    begin, end = map(microseconds, span)
    of_days = await totals.of_days(tx, subject.id, days.between(begin // DAY, (end - 1) // DAY))
    made = plan(parts(_TOTAL, begin, end, list(of_days)), days.kept_since)
    return (await _add_up(tx, subject, made, of_days)).get(_TOTAL, Figures())


async def _read(
    tx: Tx, subject: Subject, asked: Asked, now: datetime, days: Known, most: int | None
) -> tuple[Figures, list[Figures], Ranked]:
    end = _end(asked.end, now, days.days)
    first, last = day_of(asked.start), (end - 1) // DAY
    of_days = await totals.of_days(tx, subject.id, days.between(first, last))
    whole = list(parts(_TOTAL, microseconds(asked.start), end, list(of_days)))
    made = plan([*whole, *_of_entries(asked, end, list(of_days))], days.kept_since)
    found = await _add_up(tx, subject, made, of_days)
    total = found.get(_TOTAL, Figures())
    series = [found.get(label, Figures()) for label in range(len(asked.entries))]
    if most is not None and total.clicks > most:
        return total, series, {}
    edges = [edge(part) for part in whole if not part.is_day and part.day >= days.kept_since]
    are_whole = {part.day for part in whole} - {part.day for sign, part in edges if sign > 0}
    clicks = {day: figures.clicks for day, figures in of_days.items() if day in are_whole}
    return total, series, await top_values.top(tx, subject, total.clicks, clicks, edges)


def _end(end: datetime, now: datetime, days: Sequence[int]) -> int:
    """Nothing lies behind now but what clocks that are ahead wrote. That happened, too, so it is counted up to now.

    It also makes the period end with a UTC day, of which everything is added up.
    """
    return microseconds(end) if end < now or not days else max(microseconds(end), (days[-1] + 1) * DAY)


def _of_entries(asked: Asked, end: int, of: Sequence[int]) -> Iterator[Part]:
    """Of those from the first day with a visit on: from 1970 there can be thousands before."""
    last = len(asked.entries) - 1
    since = from_microseconds(of[0] * DAY) if of else asked.end
    first = min(last, bisect_right(asked.entries, since, key=lambda entry: entry.end))
    for label in range(max(0, first), last + 1):
        entry = asked.entries[label]
        until = end if label == last else microseconds(entry.end)
        yield from parts(label, microseconds(entry.start), until, of)


async def _add_up(tx: Tx, subject: Subject, made: Plan, of_days: dict[int, Figures]) -> dict[int, Figures]:
    """Figures by label."""
    found = await totals.of_quarters(tx, subject.id, made.quarters)
    for part in made.days:
        found.setdefault(part.label, Figures()).add(of_days[part.day])
    counted: dict[tuple[int, int], Figures] = {}
    for part in made.clicks:  # the period's edges, which are also those of its first and last entry
        if (part.begin, part.end) not in counted:
            counted[part.begin, part.end] = await totals.of_clicks(tx, subject, part)
        found.setdefault(part.label, Figures()).add(counted[part.begin, part.end])
    return found
