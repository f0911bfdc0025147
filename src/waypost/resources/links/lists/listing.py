"""Lists an account's links by filter and order, with an exact total for the API and a capped one for the dashboard."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, literal, select, tuple_

from waypost import accounts
from waypost.database import Id, Instant, Tx, batches_of
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.links.lists.query import LinkFilter, ListQuery, Order, plan_query, tagged_ids
from waypost.resources.links.model import COLUMNS, Link, links
from waypost.resources.links.store import find_in_order

_FAR = 5_000
"""Links before a page from which on sets of ids are built faster than so many links are looked up."""

_AMONG = 200
"""Ids of a statement."""


async def list_with_total(
    tx: Tx, account_id: UUID, filter_: LinkFilter, request: PageRequest, now: datetime
) -> Page[Link]:
    """List a page, newest first, with the number of all links that match."""
    query = await plan_query(tx, account_id, filter_, now, max_links_of_rare_tag=None)
    newest = query.ids("newest")
    total = await accounts.count_links(tx, account_id) if filter_.is_empty else await _count(tx, newest)
    page, _ = await _fetch(tx, newest, request, request.per_page)
    return Page(page, total, request)


async def find_ids_after(
    tx: Tx,
    account_id: UUID,
    filter_: LinkFilter,
    at: datetime,
    after: tuple[datetime, UUID] | None,
    *,
    limit: int,
    containing: str = "",
) -> list[tuple[UUID, datetime]]:
    """Return ids and times of the next links that match and existed `at`, newest first. Pass the last one as `after`.

    `containing`: a text in the destination.
    """
    query = await plan_query(tx, account_id, filter_, at, max_links_of_rare_tag=limit)
    ids = query.ids("newest").add_columns(links.c.created_at).where(links.c.created_at <= at)
    if containing:
        ids = ids.where(has_destination(containing, tx.dialect.name))
    if after:
        last = literal(after[0], Instant), literal(after[1], Id)
        ids = ids.where(tuple_(links.c.created_at, links.c.id) < tuple_(*last))
    return [(row.id, row.created_at) for row in await tx.execute(ids.limit(limit))]


async def count_matching(tx: Tx, account_id: UUID, filter_: LinkFilter, at: datetime, *, containing: str = "") -> int:
    """Count the links that match. `containing`: a text in the destination."""
    query = await plan_query(tx, account_id, filter_, at, max_links_of_rare_tag=None)
    ids = query.ids("newest").where(links.c.created_at <= at)
    return await _count(tx, ids.where(has_destination(containing, tx.dialect.name)) if containing else ids)


def has_destination(text: str, dialect: str) -> ColumnElement[bool]:
    """SQL condition: the destination contains the text, in the same letters."""
    find = func.strpos if dialect == "postgresql" else func.instr
    return find(links.c.destination_url, text) > 0


async def list_with_capped_total(
    tx: Tx, account_id: UUID, filter_: LinkFilter, request: PageRequest, now: datetime, order: Order, *, limit: int
) -> Page[Link]:
    """List a page. The total is exact up to `limit` links after the page's first link; counting more would read them.

    Without a filter the total is always exact.
    """
    limit = max(limit, request.per_page - 1)
    is_far = request.offset >= _FAR
    query = await plan_query(tx, account_id, filter_, now, max_links_of_rare_tag=limit, is_far=is_far)
    if filter_.is_empty:
        total = await accounts.count_links(tx, account_id)
        return Page(await _fetch_from_nearer_end(tx, query, request, order, total), total, request)
    page, following = await _fetch_and_count(tx, query, request, order, limit)
    if not page and request.offset:  # links before the page were not counted
        return Page([], await _count(tx, query.ids("newest").limit(limit + 1)), request)
    return Page(page, request.offset + following, request)


async def find_few(tx: Tx, account_id: UUID, filter_: LinkFilter, now: datetime, limit: int) -> list[UUID] | None:
    """Return all links that match, newest first. None if they are more than `limit`."""
    query = await plan_query(tx, account_id, filter_, now, max_links_of_rare_tag=limit)
    ids = [*await tx.scalars(query.ids("newest").limit(limit + 1))]
    return ids if len(ids) <= limit else None


async def list_ranked(
    tx: Tx,
    account_id: UUID,
    filter_: LinkFilter,
    request: PageRequest,
    now: datetime,
    ranked: Sequence[UUID],
    *,
    limit: int,
) -> Page[Link]:
    """List a page of the links that match: those of `ranked` in their order, then the others, newest first.

    The total is exact up to `limit`; without a filter it is always exact.
    """
    query = await plan_query(tx, account_id, filter_, now, max_links_of_rare_tag=limit, is_far=request.offset >= _FAR)
    first: list[UUID] = []
    for some in batches_of(ranked, _AMONG):
        matching = set(await tx.scalars(query.among(some)))
        first += [id_ for id_ in some if id_ in matching]
        if len(first) >= request.offset + request.per_page:
            break
    shown = first[request.offset : request.offset + request.per_page]
    if missing := request.per_page - len(shown):
        others = query.ids("newest").where(links.c.id.not_in(first)).offset(max(0, request.offset - len(first)))
        shown += await tx.scalars(others.limit(missing))
    counted = query.ids("newest").limit(request.offset + limit + 1)
    total = await accounts.count_links(tx, account_id) if filter_.is_empty else await _count(tx, counted)
    return Page(await find_in_order(tx, account_id, shown), total, request)


async def _fetch_from_nearer_end(
    tx: Tx, query: ListQuery, request: PageRequest, order: Order, total: int
) -> list[Link]:
    following = total - request.offset
    if following >= request.offset or not query.is_far:
        page, _ = await _fetch(tx, query.ids(order, is_match_common=True), request, request.per_page)
        return page
    length = min(request.per_page, following)
    if length <= 0:
        return []
    ids = query.reversed_ids(order).offset(following - length).limit(length)
    page, _ = await _read(tx, ids, length)
    return page[::-1]


async def _fetch_and_count(
    tx: Tx, query: ListQuery, request: PageRequest, order: Order, limit: int
) -> tuple[list[Link], int]:
    """Return the links of the page, and the number of links from its first one on, up to `limit` and one more."""
    newest, is_tag_only = query.ids("newest"), query.filter.is_tag_only
    if order == "newest" and not is_tag_only:  # reading in this order also counts
        return await _fetch(tx, newest, request, limit + 1)
    if query.is_search_without_index and request.offset <= limit:  # if few match, all texts are read, so only once
        ids = query.newest_sorted(order, request.offset + limit + 1)
        page, following = await _fetch(tx, ids, request, limit + 1)
        if request.offset + following <= limit or not page:
            return page, following
        is_match_common = True
    else:  # only links that exist have tags; otherwise, the index of `newest` has all columns of filters
        matching = tagged_ids(query.account_id, query.filter.tag or "") if is_tag_only else newest
        following = await _count(tx, matching.offset(request.offset).limit(limit + 1))
        is_match_common = is_tag_only or following > limit
    page, _ = await _fetch(tx, query.ids(order, is_match_common=is_match_common), request, request.per_page)
    return page, following


async def _fetch(tx: Tx, ids: Select[UUID], request: PageRequest, limit: int) -> tuple[list[Link], int]:
    """Return the links of the page, and the number of links from its first one on, up to `limit`."""
    return await _read(tx, ids.offset(request.offset).limit(limit), request.per_page)


async def _read(tx: Tx, ids: Select[UUID], limit: int) -> tuple[list[Link], int]:
    """Return the first links, up to `limit`, and the number of all ids.

    Ids are sorted before rows are read: sorting all rows of an account would take their memory, too.
    """
    ordered = ids.subquery()
    numbered = select(ordered.c.id, func.row_number().over().label("position")).cte("numbered")
    count = select(func.count()).select_from(numbered).scalar_subquery()
    page = select(numbered).order_by(numbered.c.position).limit(limit).subquery()
    query = select(*COLUMNS, count).join(page, page.c.id == links.c.id).order_by(page.c.position)
    rows = (await tx.execute(query)).all()
    return [Link(*row[:-1]) for row in rows], rows[0][-1] if rows else 0


async def _count(tx: Tx, ids: Select[UUID]) -> int:
    return await tx.scalar(select(func.count()).select_from(ids.subquery())) or 0
