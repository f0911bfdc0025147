"""Filters of lists of links, and queries that find the links by the index that suits the filter.

With 100,000 links in an account, the index decides whether a list takes milliseconds or seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, Select, TextClause, func, or_, select, text, true

from waypost.database import Tx
from waypost.kit.clock import parse_query_timestamp, parse_timestamp, timestamp
from waypost.kit.errors import Problems
from waypost.kit.fields import text_problem
from waypost.resources import domains
from waypost.resources.domains import names
from waypost.resources.links.health import HealthStatus
from waypost.resources.links.health.store import has_status
from waypost.resources.links.lists import trigrams
from waypost.resources.links.model import NOT_DELETED, TITLE, LinkStatus, link_clicks, link_tags, links

FILTERS = ("search", "external_id", "tag", "hostname", "status", "health", "unused_since", "expired_before")
LIST_PARAMETERS = (*FILTERS, "sort", "range")
"""Of the list in the dashboard."""
_TIMES = ("unused_since", "expired_before")
MAX_SEARCH = 255

Order = Literal["newest", "clicks", "title"]
AccessPath = Literal["external_id", "candidates", "tag", "search", "domain", "newest", "clicks", "title"]
"""The index by which the links are found: of external IDs, of candidates for a text, of a tag, of all searchable texts,
of a domain, or of all links of the account in one of the orders.
"""


_COUNTERS = link_clicks.alias("counters")
_LIMITED = links.alias("limited")
_DELETED = links.alias("deleted")
_NEWEST = links.c.created_at.desc(), links.c.id.desc()
_ORDER_BY: dict[Order, tuple[ColumnElement[Any] | TextClause, ...]] = {
    "newest": _NEWEST,
    "clicks": (_COUNTERS.c.clicks.desc(), _COUNTERS.c.link_id.desc()),  # ties: newest first, or nearly
    "title": (TITLE, *_NEWEST),
}
_OLDEST = links.c.created_at, links.c.id
_REVERSED_ORDER_BY: dict[Order, tuple[ColumnElement[Any] | TextClause, ...]] = {
    "newest": _OLDEST,
    "clicks": (_COUNTERS.c.clicks, _COUNTERS.c.link_id),
    "title": (text(f"{TITLE} DESC"), *_OLDEST),
}
_SET_SETTINGS = text("SELECT set_config('work_mem', '64MB', true), set_config('random_page_cost', '1.1', true)")
"""For PostgreSQL: hash sets of up to a million ids, and read an index in its order rather than sort all links."""
_SQLITE_INDEX: dict[AccessPath, str] = {  # SQLite, which does not know how few rows match, would use other ones
    "external_id": "uq_links_external_id",
    "candidates": "sqlite_autoindex_links_1",
    "search": "ix_links_search",
    "domain": "ix_links_domain",
}


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """Fields that are None do not filter."""

    search: str | None = None
    external_id: str | None = None
    tag: str | None = None
    hostname: str | None = None
    on_shared_domain: bool = False
    status: LinkStatus | None = None
    health: HealthStatus | None = None
    unused_since: datetime | None = None
    """Links that are older, and that nobody has clicked since."""
    expired_before: datetime | None = None

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "LinkFilter":
        times = {name: parse_timestamp(values[name]) for name in _TIMES if values.get(name)}
        return cls(**{**values, **times})

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in LinkFilter.__dataclass_fields__}
        return values | {name: timestamp(values[name]) for name in _TIMES if values[name]}

    @property
    def is_empty(self) -> bool:
        return self == LinkFilter()

    @property
    def is_tag_only(self) -> bool:
        return self.tag is not None and self == LinkFilter(tag=self.tag)


def read_filter(query: Mapping[str, str], shared_domain: str, problems: Problems) -> LinkFilter:
    params = {name: query.get(name) for name in FILTERS}
    for name, value in params.items():
        if problem := text_problem(value or ""):
            problems.add(name, problem)
        if name in {"search", "external_id"} and len(value or "") > MAX_SEARCH:
            problems.add(name, f"This must have at most {MAX_SEARCH} characters.")
    if params["status"] not in {None, *get_args(LinkStatus)}:
        problems.add("status", f"This must be one of: {', '.join(get_args(LinkStatus))}.")
    if params["health"] not in {None, *get_args(HealthStatus)}:
        problems.add("health", f"This must be one of: {', '.join(get_args(HealthStatus))}.")
    times = {name: _read_time(name, params[name], problems) for name in _TIMES}
    hostname = names.canonical_or_lower(params["hostname"] or "")
    is_shared = hostname == shared_domain
    return LinkFilter(
        search=params["search"],
        external_id=params["external_id"],
        tag=params["tag"],
        hostname=None if is_shared else hostname or None,
        on_shared_domain=is_shared,
        status=params["status"],  # type: ignore[arg-type]  # checked above
        health=params["health"],  # type: ignore[arg-type]
        **times,
    )


def _read_time(name: str, text: str | None, problems: Problems) -> datetime | None:
    try:
        return None if text is None else parse_query_timestamp(text)
    except ValueError:
        problems.add(name, "This must be a date and time in ISO 8601 format, such as 2030-01-31T12:00:00Z.")
        return None


class ListStatistics(NamedTuple):
    trigrams: Sequence[str] = ()
    """The rarest trigrams of the searched text."""
    candidates: Sequence[int] | None = None
    """Numbers of all links that may match the searched text. None if there are too many, or they were not queried."""
    is_tag_rare: bool = False
    has_limited: bool = False
    """Whether the status depends on a start or click limit of a link."""


class ListPlan(NamedTuple):
    access_path: AccessPath
    is_sorted_afterwards: bool


def plan_list(filter_: LinkFilter, statistics: ListStatistics, order: Order, *, is_match_common: bool) -> ListPlan:
    """Choose the access path. `is_match_common`: reading all links in this order soon finds enough matches."""
    access_path: AccessPath = "newest"
    if filter_.external_id is not None:
        access_path = "external_id"
    elif statistics.candidates is not None:
        access_path = "candidates"
    elif statistics.is_tag_rare:
        access_path = "tag"
    elif order != "newest" and is_match_common:
        access_path = order
    elif filter_.search:
        access_path = "search"
    elif filter_.hostname is not None:
        access_path = "domain"
    return ListPlan(access_path, is_sorted_afterwards=order not in {"newest", access_path})


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Builds queries for the ids of a list's links."""

    account_id: UUID
    filter: LinkFilter
    statistics: ListStatistics
    now: datetime
    dialect: str

    is_far: bool = False
    """Whether thousands of links precede the page. Then sets of ids are built once, instead of a look-up per link."""

    @property
    def is_search_without_index(self) -> bool:
        """Whether the searched text has no trigram, as one of two characters."""
        return bool(self.filter.search) and not self.statistics.trigrams

    def ids(self, order: Order, *, is_match_common: bool = False) -> Select[UUID]:
        plan = plan_list(self.filter, self.statistics, order, is_match_common=is_match_common)
        if not plan.is_sorted_afterwards:
            return self._find_by(plan.access_path).order_by(*_ORDER_BY[order])
        return self._sort(self._find_by(plan.access_path).order_by(*_NEWEST), order)

    def among(self, ids: Sequence[UUID]) -> Select[UUID]:
        """Select those of the account's links that match. `ids`: a bounded number of them."""
        return self._find_by("candidates").where(links.c.account_id == self.account_id, links.c.id.in_(ids))

    def reversed_ids(self, order: Order) -> Select[UUID]:
        """Select the ids of all links from the other end. Without a filter only."""
        return self._find_by(order).order_by(*_REVERSED_ORDER_BY[order])

    def newest_sorted(self, order: Order, limit: int) -> Select[UUID]:
        """Select the newest matches, in another order."""
        path = plan_list(self.filter, self.statistics, order, is_match_common=False).access_path
        return self._sort(self._find_by(path).order_by(*_NEWEST).limit(limit), order)

    @staticmethod
    def _sort(ids: Select[UUID], order: Order) -> Select[UUID]:
        # OFFSET 0: no database merges a subquery that has one, so links are found first and sorted then
        unsorted = ids.offset(0).subquery()
        id_ = links.c.id if order == "title" else _COUNTERS.c.link_id
        return select(unsorted.c.id).join(id_.table, id_ == unsorted.c.id).order_by(*_ORDER_BY[order])

    def _find_by(self, access_path: AccessPath) -> Select[UUID]:
        if access_path == "clicks" and self.is_far and (self.filter.is_empty or self.filter.is_tag_only):
            return self._find_in_counters()
        source: FromClause = links
        if access_path == "clicks":
            source = links.join(_COUNTERS, _COUNTERS.c.link_id == links.c.id)
        ids = select(links.c.id).select_from(source).where(NOT_DELETED, *self._conditions(access_path))
        return (
            ids.with_hint(links, f"INDEXED BY {_SQLITE_INDEX[access_path]}", "sqlite")
            if access_path in _SQLITE_INDEX
            else ids
        )

    def _find_in_counters(self) -> Select[UUID]:
        """Find all links, or those with a tag, by the index of clicks alone. Deleted links keep their counters."""
        id_ = _COUNTERS.c.link_id
        ids = select(id_.label("id")).where(_COUNTERS.c.account_id == self.account_id)
        if self.filter.tag is not None:  # deleted links have no tags
            return ids.where(_is_in_set(id_, tagged_ids(self.account_id, self.filter.tag)))
        deleted = select(_DELETED.c.id).where(
            _DELETED.c.account_id == self.account_id, _DELETED.c.deleted_at.is_not(None)
        )
        return ids.where(~_is_in_set(id_, deleted))

    def _conditions(self, access_path: AccessPath) -> Iterator[ColumnElement[bool]]:
        if access_path == "clicks":
            yield _COUNTERS.c.account_id == self.account_id
        elif access_path not in {"candidates", "tag"}:  # there it would tempt SQLite to use an index of the account
            yield links.c.account_id == self.account_id
        filter_ = self.filter
        if filter_.external_id is not None:
            yield links.c.external_id == filter_.external_id
        if filter_.tag is not None:
            tagged = tagged_ids(self.account_id, filter_.tag)
            if access_path == "tag":
                yield links.c.id.in_(tagged)
            elif self.is_far:
                yield _is_in_set(links.c.id, tagged)
            else:
                yield tagged.where(link_tags.c.link_id == links.c.id).exists()
        if self.statistics.candidates is not None:
            yield trigrams.match_numbers(self.account_id, self.statistics.candidates)
        if filter_.search:
            yield from _match_text(filter_.search.casefold(), self.statistics.trigrams, self.dialect)
        yield from self._match_domain()
        yield from self._match_care()
        yield from self._match_status(access_path)

    def _match_domain(self) -> Iterator[ColumnElement[bool]]:
        if self.filter.on_shared_domain:  # also links whose domain was deleted
            yield domains.is_on_shared_domain(links.c.domain_id)
        if self.filter.hostname is not None:
            yield links.c.domain_id == domains.id_subquery(self.account_id, self.filter.hostname)

    def _match_care(self) -> Iterator[ColumnElement[bool]]:
        filter_ = self.filter
        if filter_.health is not None:
            yield has_status(self.account_id, filter_.health)
        if filter_.unused_since is not None:
            since, its = filter_.unused_since, link_clicks.c
            clicked = select(its.link_id).where(its.link_id == links.c.id, its.last_click_at >= since)
            yield links.c.created_at < since
            yield ~clicked.exists()
        if filter_.expired_before is not None:  # one that has not expired yet did not before either
            yield links.c.expires_at < filter_.expired_before
            yield links.c.expires_at <= self.now

    def _match_status(self, access_path: AccessPath) -> Iterator[ColumnElement[bool]]:
        ended = _early_or_used_up(self.account_id, self.now)
        # an order soon finds enough links, and PostgreSQL evaluates all of a NOT IN for the first page, too
        is_not_in = self.filter.status == "active" and self.dialect == "postgresql"
        if is_not_in or access_path in {"clicks", "title"}:
            has_ended: ColumnElement[bool] = ended.where(_LIMITED.c.id == links.c.id).correlate(links).exists()
        else:
            has_ended = links.c.id.in_(ended)
        if self.filter.status == "active":
            yield links.c.is_enabled & or_(links.c.expires_at.is_(None), links.c.expires_at > self.now)
            if self.statistics.has_limited:
                yield ~has_ended
        if self.filter.status == "inactive":
            limited = [has_ended] if self.statistics.has_limited else []
            yield or_(~links.c.is_enabled, links.c.expires_at <= self.now, *limited)


def _is_in_set(id_: ColumnElement[UUID], ids: Select[UUID]) -> ColumnElement[bool]:
    """SQL condition: the id is one of `ids`, which are read once.

    Without IS TRUE, PostgreSQL would join the two, and sort all links.
    """
    return id_.in_(ids).is_(true())


async def plan_query(
    tx: Tx,
    account_id: UUID,
    filter_: LinkFilter,
    now: datetime,
    *,
    max_links_of_rare_tag: int | None,
    is_far: bool = False,
) -> ListQuery:
    """`max_links_of_rare_tag`: None if all links that have the tag are counted anyway."""
    if (is_far or filter_.status) and tx.dialect.name == "postgresql":
        await tx.execute(_SET_SETTINGS)
    rare_trigrams = (
        await trigrams.select_rare_trigrams(tx, account_id, filter_.search.casefold()) if filter_.search else []
    )
    candidates = await trigrams.find_candidates(tx, account_id, rare_trigrams)
    is_tag_rare = filter_.tag is not None and candidates is None
    if is_tag_rare and max_links_of_rare_tag is not None:
        beyond = tagged_ids(account_id, filter_.tag or "").offset(max_links_of_rare_tag).limit(1)
        is_tag_rare = (await tx.execute(beyond)).first() is None
    has_limited = filter_.status is not None and (await tx.execute(_limited(account_id).limit(1))).first() is not None
    statistics = ListStatistics(rare_trigrams, candidates, is_tag_rare, has_limited)
    return ListQuery(account_id, filter_, statistics, now, tx.dialect.name, is_far)


def tagged_ids(account_id: UUID, tag: str) -> Select[UUID]:
    return select(link_tags.c.link_id).where(link_tags.c.account_id == account_id, link_tags.c.tag == tag)


def _early_or_used_up(account_id: UUID, now: datetime) -> Select[UUID]:
    """Select the links before their start and those whose click limit is reached: one look into a small index."""
    counters = link_clicks.alias("clicks_of_limited")
    query = _limited(account_id).outerjoin(counters, counters.c.link_id == _LIMITED.c.id)
    return query.where((_LIMITED.c.starts_at > now) | (counters.c.clicks >= _LIMITED.c.click_limit))


def _limited(account_id: UUID) -> Select[UUID]:
    """Select the links that have a start or click limit."""
    is_limited = _LIMITED.c.starts_at.is_not(None) | _LIMITED.c.click_limit.is_not(None)
    return select(_LIMITED.c.id).where(_LIMITED.c.account_id == account_id, _LIMITED.c.deleted_at.is_(None), is_limited)


def _match_text(text: str, trigrams_: Sequence[str], dialect: str) -> Iterator[ColumnElement[bool]]:
    """Match links that contain the text, by `memcmp` at each position.

    GLOB, LIKE and PostgreSQL's `strpos` compare character by character: a long text that nearly matches everywhere
    took them up to a hundred times as long. UTF-8 is compared as bytes. LIKE is for PostgreSQL's index of trigrams.
    """
    searched = links.c.search_text
    if dialect == "postgresql":
        yield func.pg_catalog.position(func.convert_to(searched, "UTF8"), text.encode()) > 0
        yield from map(searched.contains, trigrams_)
    else:
        yield func.instr(searched, text) > 0
