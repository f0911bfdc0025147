"""One page of clicks, newest first, from any depth: whole days are skipped by their counts, never by walking them.

Refuses to count clicks where something has counted them already.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from waypost.database import Tx
from waypost.kit.clock import DAY, microseconds
from waypost.kit.pagination import PageRequest
from waypost.resources.clicks.days import DaySlice, any_of, day_of, known_days, slices_of, whole_day
from waypost.resources.clicks.filters import ClickFilter, FilterField
from waypost.resources.clicks.model import (
    CRAWLER,
    DIMENSIONS,
    HUMAN,
    PREFETCH,
    PREVIEW,
    WHOLE_DAY,
    Click,
    ClickKind,
    Subject,
    click_dimensions,
    click_totals,
    clicks,
)
from waypost.resources.clicks.store import COLUMNS, click_of

_T, _D = click_totals.c, click_dimensions.c
_COUNTS: dict[ClickKind | None, ColumnElement[int]] = {
    HUMAN: _T.clicks,
    CRAWLER: _T.crawlers,
    PREVIEW: _T.previews,
    PREFETCH: _T.prefetches,
    None: _T.clicks + _T.crawlers + _T.previews + _T.prefetches,
}
_RECENT = 62  # days; up to half of those that are known can be in the future
_SOME_DAY = 4_000_000  # in the 130th century

_OWN: dict[FilterField, int] = {"country": DIMENSIONS["country"], "referrer": DIMENSIONS["referrer"]}
"""Those with a dimension of their own; the others share one."""


@dataclass(slots=True)
class Slice:
    """Of the clicks of some parts of days: how many of the newest to pass over, and how many to take."""

    parts: list[DaySlice]
    skip: int
    take: int


async def page(tx: Tx, subject: Subject, wanted: ClickFilter, request: PageRequest) -> tuple[list[Click], int]:
    """(clicks of the page, number of clicks on all pages)."""
    days = await _days(tx, wanted)
    edges = {part.day: part for part in _edges(wanted, days)}
    counts = await _count_days(tx, subject, wanted, [day for day in days if day not in edges])
    for day, edge in edges.items():
        counts[day] = await _count(tx, subject, wanted, edge)
    counted = ((edges.get(day) or whole_day(day), counts[day]) for day in reversed(days) if counts.get(day))
    some = slices(counted, request.offset, request.per_page, joins=not wanted.values)
    return await _read(tx, subject, wanted, some), sum(counts.values())


async def latest(tx: Tx, subject: Subject, most: int) -> list[Click]:
    """Of people; how many there are in all is not counted, so nearly always the last days are enough."""
    wanted, found = ClickFilter(), list[Click]()
    days = await _days(tx, wanted)
    for some in (days[-_RECENT:], days[:-_RECENT]):
        if some and len(found) < most:
            counts = await _count_days(tx, subject, wanted, some)
            counted = ((whole_day(day), counts[day]) for day in reversed(some) if counts.get(day))
            found += await _read(tx, subject, wanted, slices(counted, 0, most - len(found)))
    return found


async def _read(tx: Tx, subject: Subject, wanted: ClickFilter, some: Iterable[Slice]) -> list[Click]:
    found: list[Click] = []
    for each in some:
        found += map(click_of, await tx.execute(_newest(tx, subject, wanted, each)))
    return found


def slices(counted: Iterable[tuple[DaySlice, int]], offset: int, limit: int, *, joins: bool = True) -> list[Slice]:
    """Where the page lies, in parts that are given newest first. Days that are taken whole are one slice if it `joins`:
    of a few among many clicks, a day's are found in their order, and those of several days by reading all of them.
    """
    found: list[Slice] = []
    for part, count in counted:
        if limit == 0:
            break
        take = max(0, min(count - offset, limit))
        if joins and take and found and offset == 0 and _can_join(found[-1], part, is_whole=take == count):
            found[-1].parts.append(part)
            found[-1].take += take
        elif take:
            found.append(Slice([part], offset, take))
        offset, limit = max(0, offset - count), limit - take
    return found


def _can_join(before: Slice, part: DaySlice, *, is_whole: bool) -> bool:
    return is_whole and part.is_whole_day and before.skip == 0 and all(each.is_whole_day for each in before.parts)


async def _days(tx: Tx, wanted: ClickFilter) -> list[int]:
    """Those that can have clicks of those wanted, oldest first."""
    days = await known_days(tx)
    first = max(days.kept_since, day_of(wanted.start) if wanted.start else 0)
    last = (microseconds(wanted.end) - 1) // DAY if wanted.end else _SOME_DAY
    return days.between(first, last)


def _edges(wanted: ClickFilter, days: Sequence[int]) -> list[DaySlice]:
    """The first day and the last one, where they are not wanted whole."""
    begin = microseconds(wanted.start) if wanted.start else 0
    end = microseconds(wanted.end) if wanted.end else _SOME_DAY * DAY
    outer = slices_of(0, begin, end, sorted({*days[:1], *days[-1:]}))
    return [part for part in outer if not part.is_whole_day]


async def _count_days(tx: Tx, subject: Subject, wanted: ClickFilter, days: Sequence[int]) -> dict[int, int]:
    added_up = _added_up(tx, wanted.values)
    if not wanted.values:
        day = _T.day
        counted = select(day, _COUNTS[wanted.kind]).where(_T.subject_id == subject.id, _T.quarter == WHOLE_DAY)
    elif added_up and wanted.kind == HUMAN:
        day = _D.day
        counted = select(day, func.sum(_D.clicks)).where(_D.subject_id == subject.id, *added_up).group_by(day)
    else:
        day = clicks.c.day
        counted = select(day, func.count()).where(subject.clicks, *wanted.conditions).group_by(day)
    rows = await tx.execute(counted.where(any_of(tx, day, days)))
    return {row[0]: int(row[1]) for row in rows}


def _added_up(tx: Tx, values: Mapping[FilterField, str]) -> list[ColumnElement[bool]]:
    """Conditions on `click_dimensions`, where one dimension tells of all these values."""
    if set(values) <= {"device", "browser", "platform"}:
        return [_D.dimension == DIMENSIONS["agent"], *(_of_agent(tx, *each) for each in values.items())]
    if len(values) == 1:
        ((name, value),) = values.items()
        return [_D.dimension == _OWN[name], _D.value == value]
    return []


def _of_agent(tx: Tx, name: FilterField, value: str) -> ColumnElement[bool]:
    """Whether it is the first, the second or the last of the three between tabs. LIKE would read signs in it."""
    if name == "device":
        return func.substr(_D.value, 1, len(value) + 1) == f"{value}\t"
    if name == "platform":
        return func.substr(_D.value, func.length(_D.value) - len(value)) == f"\t{value}"
    place = func.strpos if tx.dialect.name == "postgresql" else func.instr
    return place(_D.value, f"\t{value}\t") > 0


async def _count(tx: Tx, subject: Subject, wanted: ClickFilter, part: DaySlice) -> int:
    counted = select(func.count()).select_from(clicks)
    return (await tx.execute(counted.where(*_in_parts(tx, subject, wanted, [part])))).scalar_one()


def _newest(tx: Tx, subject: Subject, wanted: ClickFilter, piece: Slice) -> Select[Any]:
    """Ids first: what is passed over is then read from the index alone."""
    order = clicks.c.created_at.desc(), clicks.c.id.desc()
    ids = select(clicks.c.id).where(*_in_parts(tx, subject, wanted, piece.parts)).order_by(*order)
    return select(*COLUMNS).where(clicks.c.id.in_(ids.offset(piece.skip).limit(piece.take))).order_by(*order)


def _in_parts(tx: Tx, subject: Subject, wanted: ClickFilter, of: Sequence[DaySlice]) -> list[ColumnElement[bool]]:
    conditions = [subject.clicks, *wanted.conditions]
    if len(of) > 1:
        return [any_of(tx, clicks.c.day, [part.day for part in of]), *conditions]
    (part,) = of
    if not part.is_whole_day:
        begin, end = part.time_range
        conditions += [clicks.c.created_at >= begin, clicks.c.created_at < end]
    return [clicks.c.day == part.day, *conditions]
