"""Lists clicks of a link, or of an account with its deleted links, newest first. Each list reads one snapshot.

Whole days are skipped by their totals, so any page costs the same. Clicks are counted only where the statistics have no
count.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.pagination import Page, PageRequest
from waypost.resources import links
from waypost.resources.clicks.days import DaySlice, PageSlice, TimeRange, slice_between
from waypost.resources.clicks.filters import ClickFilter
from waypost.resources.clicks.model import HUMAN, Click, ClickKind, Subject
from waypost.resources.clicks.selection import ClickSelection, select_clicks
from waypost.resources.clicks.store import ClickReader

_RECENT_DAYS = 62  # wrong clocks may put up to half of them into the future


async def list_clicks(context: Context, caller: Caller, click_filter: ClickFilter, request: PageRequest) -> Page[Click]:
    """Raises NotFound for a filter by a link that the account does not have."""
    async with context.click_store.reader(context.db, caller.account.id) as reader:
        return await _page(context, reader, Subject(caller.account.id), click_filter, request)


async def list_link_clicks(
    context: Context, caller: Caller, link_id: UUID, click_filter: ClickFilter, request: PageRequest
) -> Page[Click]:
    """Raises NotFound for a link of another account or a deleted one."""
    async with context.click_store.reader(context.db, caller.account.id) as reader:
        async with reader.transaction() as tx:
            await links.require_exists(tx, caller.account.id, link_id)
        return await _page(context, reader, Subject(caller.account.id, link_id), click_filter, request)


async def list_latest(
    reader: ClickReader, selection: ClickSelection, limit: int, within: TimeRange | None = None
) -> list[Click]:
    """Return the latest clicks of people, without a total: usually the last days are enough."""
    latest = list[Click]()
    asked = ClickFilter(start=within.start, end=within.end) if within else ClickFilter()
    all_days = await _find_days(reader, selection.subject, asked)
    for days in (all_days[-_RECENT_DAYS:], all_days[:-_RECENT_DAYS]):
        if days and len(latest) < limit:
            counts = await _count_by_day(reader, selection, HUMAN, days)
            latest += await _read(reader, selection, HUMAN, slices(counts, 0, limit - len(latest)))
    return latest


async def _page(
    context: Context, reader: ClickReader, subject: Subject, click_filter: ClickFilter, request: PageRequest
) -> Page[Click]:
    async with reader.transaction() as tx:
        selection = await select_clicks(tx, subject, click_filter.filters, shared_domain=context.shared_domain)
    kind, days = click_filter.kind, await _find_days(reader, selection.subject, click_filter)
    counts = await _count_by_day(reader, selection, kind, days)
    page_slices = slices(counts, request.offset, request.per_page, joins=selection.has_all)
    return Page(await _read(reader, selection, kind, page_slices), sum(count for _, count in counts), request)


async def _read(
    reader: ClickReader, selection: ClickSelection, kind: ClickKind | None, page_slices: Iterable[PageSlice]
) -> list[Click]:
    page: list[Click] = []
    for page_slice in page_slices:
        page += await reader.read_newest(selection, kind, page_slice)
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


async def _find_days(reader: ClickReader, subject: Subject, click_filter: ClickFilter) -> list[DaySlice]:
    """Return the days that can have matching clicks, oldest first. The first and the last can be partial."""
    known = await reader.find_known_days(subject)
    return slice_between(click_filter.start, click_filter.end, [day for day in known.days if day >= known.kept_since])


async def _count_by_day(
    reader: ClickReader, selection: ClickSelection, kind: ClickKind | None, days: Sequence[DaySlice]
) -> list[tuple[DaySlice, int]]:
    """Return the days with matching clicks and the number of these, newest first."""
    counts = await reader.count_by_day(selection, kind, days)
    return [(day_slice, counts[day_slice.day]) for day_slice in reversed(days) if counts.get(day_slice.day)]
