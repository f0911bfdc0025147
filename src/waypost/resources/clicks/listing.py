"""Lists of clicks, of one link or of an account with its deleted links. Each reads one snapshot.

One page of clicks, newest first, at any depth: skips full days by their counts, without reading their clicks.

Counts clicks only where the statistics have no count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select

from waypost.auth import Caller
from waypost.database import Database, Tx
from waypost.kit.pagination import Page, PageRequest
from waypost.resources import links
from waypost.resources.clicks.days import DaySlice, find_known_days, in_values, slice_between, within
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
from waypost.resources.clicks.store import COLUMNS, read_click

_T, _D = click_totals.c, click_dimensions.c
_COUNTS: dict[ClickKind | None, ColumnElement[int]] = {
    HUMAN: _T.clicks,
    CRAWLER: _T.crawlers,
    PREVIEW: _T.previews,
    PREFETCH: _T.prefetches,
    None: _T.clicks + _T.crawlers + _T.previews + _T.prefetches,
}
_RECENT = 62  # days; wrong clocks may put up to half of them into the future

_OWN: dict[FilterField, int] = {"country": DIMENSIONS["country"], "referrer": DIMENSIONS["referrer"]}
"""Fields with their own dimension; the others share one."""


@dataclass(slots=True)
class PageSlice:
    """A part of a page: the clicks of some days, of which it skips the newest and takes the next ones."""

    days: list[DaySlice]
    skip: int
    take: int


async def browse(db: Database, caller: Caller, click_filter: ClickFilter, request: PageRequest) -> Page[Click]:
    async with db.read_for(caller.account.id) as tx:
        return await _page(tx, Subject(caller.account.id, is_account=True), click_filter, request)


async def browse_link(
    db: Database, caller: Caller, link_id: UUID, click_filter: ClickFilter, request: PageRequest
) -> Page[Click]:
    """Raises NotFound for a link that the account does not have, or has deleted."""
    async with db.read_for(caller.account.id) as tx:
        await links.require_exists(tx, caller.account.id, link_id)
        return await _page(tx, Subject(link_id), click_filter, request)


async def latest(tx: Tx, subject: Subject, most: int) -> list[Click]:
    """The latest clicks of people, without a total: usually the last days are enough."""
    click_filter, found = ClickFilter(), list[Click]()
    days = await _days(tx, click_filter)
    for some in (days[-_RECENT:], days[:-_RECENT]):
        if some and len(found) < most:
            counted = await _counted(tx, subject, click_filter, some)
            found += await _read(tx, subject, click_filter, slices(counted, 0, most - len(found)))
    return found


async def _page(tx: Tx, subject: Subject, click_filter: ClickFilter, request: PageRequest) -> Page[Click]:
    counted = await _counted(tx, subject, click_filter, await _days(tx, click_filter))
    some = slices(counted, request.offset, request.per_page, joins=not click_filter.values)
    return Page(await _read(tx, subject, click_filter, some), sum(count for _, count in counted), request)


async def _read(tx: Tx, subject: Subject, click_filter: ClickFilter, some: Iterable[PageSlice]) -> list[Click]:
    found: list[Click] = []
    for each in some:
        found += map(read_click, await tx.execute(_newest(tx, subject, click_filter, each)))
    return found


def slices(counted: Iterable[tuple[DaySlice, int]], offset: int, limit: int, *, joins: bool = True) -> list[PageSlice]:
    """The slices of a page. `counted` is newest first.

    `joins`: full days become one slice. With filters they must not: an index finds the few clicks of one day in order,
    but several days would be read completely.
    """
    found: list[PageSlice] = []
    for part, count in counted:
        if limit == 0:
            break
        take = max(0, min(count - offset, limit))
        if joins and take and found and offset == 0 and _can_join(found[-1], part, is_complete=take == count):
            found[-1].days.append(part)
            found[-1].take += take
        elif take:
            found.append(PageSlice([part], offset, take))
        offset, limit = max(0, offset - count), limit - take
    return found


def _can_join(before: PageSlice, part: DaySlice, *, is_complete: bool) -> bool:
    return is_complete and part.is_whole_day and before.skip == 0 and all(each.is_whole_day for each in before.days)


async def _days(tx: Tx, click_filter: ClickFilter) -> list[DaySlice]:
    """The days that can have matching clicks, oldest first: of the first and the last one perhaps a part."""
    known = await find_known_days(tx)
    return slice_between(click_filter.start, click_filter.end, [day for day in known.days if day >= known.kept_since])


async def _counted(
    tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[DaySlice]
) -> list[tuple[DaySlice, int]]:
    """The days with matching clicks and their number, newest first."""
    counts = await _count_days(tx, subject, click_filter, [each.day for each in days if each.is_whole_day])
    for part in days:
        if not part.is_whole_day:
            counts[part.day] = await _count(tx, subject, click_filter, part)
    return [(each, counts[each.day]) for each in reversed(days) if counts.get(each.day)]


async def _count_days(tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[int]) -> dict[int, int]:
    aggregated = _aggregated(tx, click_filter.values)
    if not click_filter.values:
        day = _T.day
        counted = select(day, _COUNTS[click_filter.kind]).where(_T.subject_id == subject.id, _T.quarter == WHOLE_DAY)
    elif aggregated and click_filter.kind == HUMAN:
        day = _D.day
        counted = select(day, func.sum(_D.clicks)).where(_D.subject_id == subject.id, *aggregated).group_by(day)
    else:
        day = clicks.c.day
        counted = select(day, func.count()).where(subject.clicks, *click_filter.conditions).group_by(day)
    rows = await tx.execute(counted.where(in_values(tx, day, days)))
    return {row[0]: int(row[1]) for row in rows}


def _aggregated(tx: Tx, values: Mapping[FilterField, str]) -> list[ColumnElement[bool]]:
    """Conditions on `click_dimensions`, if one dimension has all these fields."""
    if set(values) <= {"device", "browser", "platform"}:
        return [_D.dimension == DIMENSIONS["agent"], *(_of_agent(tx, *each) for each in values.items())]
    if len(values) == 1:
        ((name, value),) = values.items()
        return [_D.dimension == _OWN[name], _D.value == value]
    return []


def _of_agent(tx: Tx, name: FilterField, value: str) -> ColumnElement[bool]:
    """Whether the first, second or last of the three fields is the value. LIKE would interpret wildcards."""
    if name == "device":
        return func.substr(_D.value, 1, len(value) + 1) == f"{value}\t"
    if name == "platform":
        return func.substr(_D.value, func.length(_D.value) - len(value)) == f"\t{value}"
    place = func.strpos if tx.dialect.name == "postgresql" else func.instr
    return place(_D.value, f"\t{value}\t") > 0


async def _count(tx: Tx, subject: Subject, click_filter: ClickFilter, part: DaySlice) -> int:
    counted = select(func.count()).select_from(clicks)
    return (await tx.execute(counted.where(*_conditions(tx, subject, click_filter, [part])))).scalar_one()


def _newest(tx: Tx, subject: Subject, click_filter: ClickFilter, page_slice: PageSlice) -> Select[Any]:
    """Selects ids first, so that skipped clicks are read from the index only."""
    order = clicks.c.created_at.desc(), clicks.c.id.desc()
    ids = select(clicks.c.id).where(*_conditions(tx, subject, click_filter, page_slice.days)).order_by(*order)
    return select(*COLUMNS).where(clicks.c.id.in_(ids.offset(page_slice.skip).limit(page_slice.take))).order_by(*order)


def _conditions(
    tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[DaySlice]
) -> list[ColumnElement[bool]]:
    conditions = [subject.clicks, *click_filter.conditions]
    if len(days) > 1:
        return [in_values(tx, clicks.c.day, [each.day for each in days]), *conditions]
    return [*within(days[0]), *conditions]
