"""Lists clicks of a link, or of an account with its deleted links, newest first. Each list reads one snapshot.

Whole days are skipped by their totals, so any page costs the same. Clicks are counted only where the statistics have no
count.
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

_totals, _dimensions = click_totals.c, click_dimensions.c
_COUNT_COLUMNS: dict[ClickKind | None, ColumnElement[int]] = {
    HUMAN: _totals.clicks,
    CRAWLER: _totals.crawlers,
    PREVIEW: _totals.previews,
    PREFETCH: _totals.prefetches,
    None: _totals.clicks + _totals.crawlers + _totals.previews + _totals.prefetches,
}
_RECENT_DAYS = 62  # wrong clocks may put up to half of them into the future

_OWN_DIMENSIONS: dict[FilterField, int] = {"country": DIMENSIONS["country"], "referrer": DIMENSIONS["referrer"]}
"""Fields with their own dimension; the others share one."""


@dataclass(slots=True)
class PageSlice:
    """A part of a page: the clicks of some days, of which it skips the newest and takes the next ones."""

    days: list[DaySlice]
    skip: int
    take: int


async def list_clicks(db: Database, caller: Caller, click_filter: ClickFilter, request: PageRequest) -> Page[Click]:
    async with db.read_for(caller.account.id) as tx:
        return await _page(tx, Subject(caller.account.id, is_account=True), click_filter, request)


async def list_link_clicks(
    db: Database, caller: Caller, link_id: UUID, click_filter: ClickFilter, request: PageRequest
) -> Page[Click]:
    """Raises NotFound for a link of another account or a deleted one."""
    async with db.read_for(caller.account.id) as tx:
        await links.require_exists(tx, caller.account.id, link_id)
        return await _page(tx, Subject(link_id), click_filter, request)


async def list_latest(tx: Tx, subject: Subject, limit: int) -> list[Click]:
    """Return the latest clicks of people, without a total: usually the last days are enough."""
    click_filter, latest = ClickFilter(), list[Click]()
    all_days = await _find_days(tx, click_filter)
    for days in (all_days[-_RECENT_DAYS:], all_days[:-_RECENT_DAYS]):
        if days and len(latest) < limit:
            counts = await _count_by_day(tx, subject, click_filter, days)
            latest += await _read(tx, subject, click_filter, slices(counts, 0, limit - len(latest)))
    return latest


async def _page(tx: Tx, subject: Subject, click_filter: ClickFilter, request: PageRequest) -> Page[Click]:
    counts = await _count_by_day(tx, subject, click_filter, await _find_days(tx, click_filter))
    page_slices = slices(counts, request.offset, request.per_page, joins=not click_filter.values)
    return Page(await _read(tx, subject, click_filter, page_slices), sum(count for _, count in counts), request)


async def _read(tx: Tx, subject: Subject, click_filter: ClickFilter, page_slices: Iterable[PageSlice]) -> list[Click]:
    page: list[Click] = []
    for page_slice in page_slices:
        page += map(read_click, await tx.execute(_newest_query(tx, subject, click_filter, page_slice)))
    return page


def slices(counts: Iterable[tuple[DaySlice, int]], offset: int, limit: int, *, joins: bool = True) -> list[PageSlice]:
    """Return the slices of a page. `counts` are newest first.

    `joins`: whole days become one slice. With filters they must not: an index finds the few clicks of one day in order,
    but several days would be read completely.
    """
    page_slices: list[PageSlice] = []
    for day_slice, count in counts:
        if limit == 0:
            break
        take = max(0, min(count - offset, limit))
        last = page_slices[-1] if page_slices else None
        if joins and take and last and offset == 0 and _can_join(last, day_slice, is_complete=take == count):
            last.days.append(day_slice)
            last.take += take
        elif take:
            page_slices.append(PageSlice([day_slice], offset, take))
        offset, limit = max(0, offset - count), limit - take
    return page_slices


def _can_join(last: PageSlice, day_slice: DaySlice, *, is_complete: bool) -> bool:
    return is_complete and day_slice.is_whole_day and last.skip == 0 and all(day.is_whole_day for day in last.days)


async def _find_days(tx: Tx, click_filter: ClickFilter) -> list[DaySlice]:
    """Return the days that can have matching clicks, oldest first. The first and the last can be partial."""
    known = await find_known_days(tx)
    return slice_between(click_filter.start, click_filter.end, [day for day in known.days if day >= known.kept_since])


async def _count_by_day(
    tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[DaySlice]
) -> list[tuple[DaySlice, int]]:
    """Return the days with matching clicks and the number of these, newest first."""
    counts = await _count_whole_days(tx, subject, click_filter, [day.day for day in days if day.is_whole_day])
    for day_slice in days:
        if not day_slice.is_whole_day:
            counts[day_slice.day] = await _count(tx, subject, click_filter, day_slice)
    return [(day_slice, counts[day_slice.day]) for day_slice in reversed(days) if counts.get(day_slice.day)]


async def _count_whole_days(tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[int]) -> dict[int, int]:
    conditions = _match_dimension(tx, click_filter.values)
    if not click_filter.values:
        day = _totals.day
        query = select(day, _COUNT_COLUMNS[click_filter.kind]).where(
            _totals.subject_id == subject.id, _totals.quarter == WHOLE_DAY
        )
    elif conditions and click_filter.kind == HUMAN:
        day = _dimensions.day
        query = (
            select(day, func.sum(_dimensions.clicks))
            .where(_dimensions.subject_id == subject.id, *conditions)
            .group_by(day)
        )
    else:
        day = clicks.c.day
        query = select(day, func.count()).where(subject.clicks, *click_filter.conditions).group_by(day)
    rows = await tx.execute(query.where(in_values(tx, day, days)))
    return {row[0]: int(row[1]) for row in rows}


def _match_dimension(tx: Tx, values: Mapping[FilterField, str]) -> list[ColumnElement[bool]]:
    """Conditions on `click_dimensions`; none unless one dimension has all these fields."""
    if set(values) <= {"device", "browser", "platform"}:
        return [
            _dimensions.dimension == DIMENSIONS["agent"],
            *(_match_agent(tx, name, value) for name, value in values.items()),
        ]
    if len(values) == 1:
        ((name, value),) = values.items()
        return [_dimensions.dimension == _OWN_DIMENSIONS[name], _dimensions.value == value]
    return []


def _match_agent(tx: Tx, name: FilterField, value: str) -> ColumnElement[bool]:
    """SQL condition: this field of the agent has the value. LIKE would interpret wildcards."""
    if name == "device":
        return func.substr(_dimensions.value, 1, len(value) + 1) == f"{value}\t"
    if name == "platform":
        return func.substr(_dimensions.value, func.length(_dimensions.value) - len(value)) == f"\t{value}"
    find_position = func.strpos if tx.dialect.name == "postgresql" else func.instr
    return find_position(_dimensions.value, f"\t{value}\t") > 0


async def _count(tx: Tx, subject: Subject, click_filter: ClickFilter, day_slice: DaySlice) -> int:
    query = select(func.count()).select_from(clicks).where(*_conditions(tx, subject, click_filter, [day_slice]))
    return (await tx.execute(query)).scalar_one()


def _newest_query(tx: Tx, subject: Subject, click_filter: ClickFilter, page_slice: PageSlice) -> Select[Any]:
    """Select ids first, so that skipped clicks are read from the index only."""
    order = clicks.c.created_at.desc(), clicks.c.id.desc()
    ids = select(clicks.c.id).where(*_conditions(tx, subject, click_filter, page_slice.days)).order_by(*order)
    return select(*COLUMNS).where(clicks.c.id.in_(ids.offset(page_slice.skip).limit(page_slice.take))).order_by(*order)


def _conditions(
    tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[DaySlice]
) -> list[ColumnElement[bool]]:
    conditions = [subject.clicks, *click_filter.conditions]
    if len(days) > 1:
        return [in_values(tx, clicks.c.day, [day.day for day in days]), *conditions]
    return [*within(days[0]), *conditions]
