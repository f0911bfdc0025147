"""Lists of an account's links: which, in what order, how many. Of 100,000 it matters which index leads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, Select, TextClause, func, or_, select

from waypost import auth
from waypost.database import Tx
from waypost.kit.pagination import PageRequest
from waypost.resources import domains
from waypost.resources.links import trigrams
from waypost.resources.links.model import ALIVE, COLUMNS, TITLE, Link, link_clicks, link_tags, links
from waypost.resources.links.rules import Order, Status


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of an account's links a list is to hold; None leaves a question open."""

    search: str | None = None
    tag: str | None = None
    hostname: str | None = None
    on_shared_domain: bool = False
    status: Status | None = None

    @property
    def is_everything(self) -> bool:
        return self == Wanted()

    @property
    def is_of_tag(self) -> bool:
        return self.tag is not None and self == Wanted(tag=self.tag)


_COUNTERS = link_clicks.alias("counters")
_NEWEST = links.c.created_at.desc(), links.c.id.desc()
_ORDERED: dict[Order, tuple[ColumnElement[Any] | TextClause, ...]] = {
    "newest": _NEWEST,
    "clicks": (_COUNTERS.c.clicks.desc(), _COUNTERS.c.link_id.desc()),  # ties: newest first, or nearly
    "title": (TITLE, *_NEWEST),
}
_FROM: dict[Order, FromClause] = {
    "newest": links,
    "clicks": links.join(_COUNTERS, _COUNTERS.c.link_id == links.c.id),
    "title": links,
}


async def page(
    tx: Tx,
    account_id: UUID,
    wanted: Wanted,
    request: PageRequest,
    now: datetime,
    order: Order = "newest",
    most: int | None = None,
) -> tuple[list[Link], int]:
    """(links of the page, number of links on all pages)

    `most`: of links that are picked out, no more than these (at least a page) are counted from the page's first one on:
    whatever is counted has to be looked at.
    """
    most = None if most is None else max(most, request.per_page - 1)
    ids = await _ids(tx, account_id, wanted, now, most)
    total, limit = await _total(tx, ids, request, order, most), request.per_page
    if most is not None and total is None:
        limit = most + 1
    elif most is not None and total is not None:
        ids = replace(ids, are_common=wanted.is_everything or total - request.offset > most)
    # ids first: to sort all of an account's rows would take their memory, too
    some = ids.ordered(order).offset(request.offset).limit(limit).subquery()
    found = select(some.c.id, func.row_number().over().label("place")).cte("found")  # as they come, in their order
    number = select(func.count()).select_from(found).scalar_subquery()
    here = select(found).order_by(found.c.place).limit(request.per_page).subquery()
    of_page = select(*COLUMNS, number).join(here, here.c.id == links.c.id).order_by(here.c.place)
    rows = (await tx.execute(of_page)).all()
    if total is None:
        total = request.offset + (rows[0][-1] if rows else 0)
    if not rows and request.offset and most is not None and not wanted.is_everything:  # what is before was not counted
        total = await _count(tx, ids.ordered("newest").limit(most + 1))
    return [Link(*row[:-1]) for row in rows], total


async def _ids(tx: Tx, account_id: UUID, wanted: Wanted, now: datetime, most: int | None) -> "_Ids":
    rarest = await trigrams.rarest(tx, account_id, wanted.search.casefold()) if wanted.search else []
    searched = await trigrams.candidates(tx, account_id, rarest)
    tag_leads = searched is None and await _is_rare_tag(tx, account_id, wanted.tag, most)
    return _Ids(account_id, wanted, now, tx.dialect.name, tag_leads=tag_leads, rarest=rarest, searched=searched)


async def _total(tx: Tx, ids: "_Ids", request: PageRequest, order: Order, most: int | None) -> int | None:
    """None where the way along the order counts as well as any other."""
    account_id, wanted, offset = ids.account_id, ids.wanted, request.offset
    if wanted.is_everything:  # counting a million rows would take longer than all the rest
        return await auth.count_links(tx, account_id)
    if most is None:
        return await _count(tx, ids.ordered("newest"))
    if wanted.is_of_tag:  # tags are of links that are there
        return offset + await _count(tx, _tagged(account_id, wanted.tag or "").offset(offset).limit(most + 1))
    if order != "newest":  # its index has what links are picked out by
        return offset + await _count(tx, ids.ordered("newest").offset(offset).limit(most + 1))
    return None


async def _count(tx: Tx, ids: Select[UUID]) -> int:
    return await tx.scalar(select(func.count()).select_from(ids.subquery())) or 0


@dataclass(frozen=True, slots=True)
class _Ids:
    """Statements that find the ids of a list's links."""

    account_id: UUID
    wanted: Wanted
    now: datetime
    dialect: str
    tag_leads: bool
    """Where few links have the tag."""
    rarest: Sequence[str]
    """Trigrams of the text that is searched for."""
    searched: Sequence[int] | None
    """Where few links may hold the text: their numbers."""
    are_common: bool = False
    """So many links follow that they are met soon on any way, also on one where each has to be looked up."""

    def ordered(self, order: Order) -> Select[UUID]:
        if order != "newest" and not self.are_common:  # found first, then sorted: no database looks behind an offset
            found = self.ordered("newest").offset(0).subquery()
            its = links.c.id if order == "title" else _COUNTERS.c.link_id
            return select(found.c.id).join(its.table, its == found.c.id).order_by(*_ORDERED[order])
        ids = select(links.c.id).select_from(_FROM[order]).where(ALIVE, *self._own(order), *self._conditions())
        if self.searched is not None:  # SQLite does not know how few they are
            ids = ids.with_hint(links, "INDEXED BY sqlite_autoindex_links_1", "sqlite")
        elif self.wanted.search and order == "newest" and not self.tag_leads:  # SQLite would take the index by title
            ids = ids.with_hint(links, "INDEXED BY ix_links_search", "sqlite")
        elif self.wanted.hostname is not None and order == "newest" and not self.tag_leads:  # nor how few these are
            ids = ids.with_hint(links, "INDEXED BY ix_links_domain", "sqlite")
        return ids.order_by(*_ORDERED[order])

    def _own(self, order: Order) -> Iterator[ColumnElement[bool]]:
        """Names the account where its index is to lead, and nowhere else: it would tempt SQLite to take another."""
        if order == "clicks":
            yield _COUNTERS.c.account_id == self.account_id
        elif not self.tag_leads and self.searched is None:
            yield links.c.account_id == self.account_id

    def _conditions(self) -> Iterator[ColumnElement[bool]]:
        wanted = self.wanted
        if wanted.tag is not None:
            tagged = _tagged(self.account_id, wanted.tag)
            yield links.c.id.in_(tagged) if self.tag_leads else tagged.where(link_tags.c.link_id == links.c.id).exists()
        if self.searched is not None:
            yield trigrams.is_one_of(self.account_id, self.searched)
        if wanted.search:
            yield from _holds(wanted.search.casefold(), self.rarest, self.dialect)
        if wanted.on_shared_domain:  # also of those whose domain is gone
            yield ~select(domains.domains).where(domains.domains.c.id == links.c.domain_id).exists()
        if wanted.hostname is not None:
            yield links.c.domain_id == domains.id_of(self.account_id, wanted.hostname)
        if wanted.status == "active":
            yield links.c.is_on & or_(links.c.expires_at.is_(None), links.c.expires_at > self.now)
        if wanted.status == "inactive":
            yield ~links.c.is_on | (links.c.expires_at <= self.now)


async def _is_rare_tag(tx: Tx, account_id: UUID, tag: str | None, most: int | None) -> bool:
    if tag is None:
        return False
    if most is None:  # all that have it are to be counted anyway
        return True
    return (await tx.execute(_tagged(account_id, tag).offset(most).limit(1))).first() is None


def _tagged(account_id: UUID, tag: str) -> Select[UUID]:
    return select(link_tags.c.link_id).where(link_tags.c.account_id == account_id, link_tags.c.tag == tag)


def _holds(wanted: str, rarest: Sequence[str], dialect: str) -> Iterator[ColumnElement[bool]]:
    """By functions that compare with `memcmp` at each place of the text.

    GLOB, LIKE and PostgreSQL's `strpos` compare sign by sign: for a long text that nearly matches everywhere they took
    up to a hundred times as long. In UTF-8, bytes match where text does. LIKE is for PostgreSQL's index of trigrams.
    """
    its = links.c.search_text
    if dialect == "postgresql":
        yield func.pg_catalog.position(func.convert_to(its, "UTF8"), wanted.encode()) > 0
        yield from map(its.contains, rarest)
    else:
        yield func.instr(its, wanted) > 0
