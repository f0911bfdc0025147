"""Every statement on the tables of links. Uniqueness of slugs is decided here, by the database, and nowhere else."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    TextClause,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from waypost.accounts import accounts
from waypost.database import Glance, Id, Tx
from waypost.kit.errors import NotFound
from waypost.kit.pages import PageRequest
from waypost.resources import domains, pixels
from waypost.resources.links.model import (
    ALIVE,
    COLUMNS,
    TITLE,
    Link,
    link_clicks,
    link_tags,
    links,
    route_changes,
    slugs,
)
from waypost.resources.links.routes import CHANNEL
from waypost.resources.links.rules import Order, Status

_ONE = select(*COLUMNS).where(links.c.id == bindparam("link_id"), links.c.account_id == bindparam("account_id"), ALIVE)
"""Built once: the API's most frequent statement, and building it took as long as running it."""

_GLOB_SIGNS = re.compile(r"[*?\[]")
_CHANGES_KEPT = timedelta(hours=1)
_KEPT_ELSEWHERE = ("hostname", "clicks", "pixel_ids")

_IDS = (bindparam("account_id", type_=Id), bindparam("link_id", type_=Id))
_CLAIM = text(
    "INSERT INTO slugs (slug, account_id, link_id) VALUES (:slug, :account_id, :link_id)"
    " ON CONFLICT (slug) DO UPDATE SET link_id = excluded.link_id"
    " WHERE slugs.account_id = excluded.account_id AND slugs.link_id IS NULL RETURNING slug"
).bindparams(*_IDS)
_CLAIM_UNUSED = text(
    "INSERT INTO slugs (slug, account_id, link_id) VALUES (:slug, :account_id, :link_id)"
    " ON CONFLICT (slug) DO NOTHING RETURNING slug"
).bindparams(*_IDS)

_ADD = {
    name: dialect.insert(links).on_conflict_do_nothing(index_elements=[links.c.id]).returning(links.c.id)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}


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


_COUNTED = link_clicks.alias("counted")
_FIRST: dict[Order, tuple[ColumnElement[Any] | TextClause, ...]] = {
    "newest": (),
    "clicks": (func.coalesce(_COUNTED.c.clicks, 0).desc(),),
    "title": (TITLE,),
}
"""What a list is sorted by before age decides."""
_FROM: dict[Order, FromClause] = {"clicks": links.outerjoin(_COUNTED, _COUNTED.c.link_id == links.c.id)}
"""Where a list is read from, if not from links alone: joined, all counters are read at once."""


async def claim(tx: Tx, slug: str, *, account_id: UUID, link_id: UUID) -> bool:
    """Takes a slug nobody has, or one this account once had. A concurrent claim of the same waits for our commit."""
    given = {"slug": slug, "account_id": account_id, "link_id": link_id}
    return (await tx.execute(_CLAIM, given)).one_or_none() is not None


async def claim_unused(tx: Tx, slug: str, *, account_id: UUID, link_id: UUID) -> bool:
    """Takes a slug only if nobody ever had it: what chance made must not revive an old printed code."""
    given = {"slug": slug, "account_id": account_id, "link_id": link_id}
    return (await tx.execute(_CLAIM_UNUSED, given)).one_or_none() is not None


async def release(tx: Tx, slug: str) -> None:
    """The account keeps the slug: nobody else can take over what it printed."""
    await tx.execute(update(slugs).where(slugs.c.slug == slug).values(link_id=None))


async def is_claimable(tx: Tx, slug: str, account_id: UUID, link_id: UUID | None) -> bool:
    """What `claim` would say right now; only to name the slug among other faults, never to decide."""
    held = await holder(tx, slug)
    return held is None or (held[0] == account_id and held[1] in {None, link_id})


async def holder(tx: Tx, slug: str) -> tuple[UUID, UUID | None] | None:
    """The account that has a slug, and the link it is on; None for a slug that nobody ever had."""
    row = (await tx.execute(select(slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == slug))).one_or_none()
    return None if row is None else (row.account_id, row.link_id)


async def add(tx: Tx, link: Link) -> bool:
    """False when its id is in use. A concurrent use of it waits for our transaction's end.

    Raises NotFound when the account was closed meanwhile: nobody would ever end what it got then.
    """
    row = asdict(link) | {"search_text": link.search_text}
    for elsewhere in _KEPT_ELSEWHERE:
        del row[elsewhere]
    if (await tx.execute(_ADD[tx.dialect.name], row)).one_or_none() is None:
        return False
    await _add_tags(tx, link)
    if link.pixel_ids:
        await pixels.attach(tx, link.id, link.pixel_ids)
    if not await _count(tx, link.account_id, 1):
        raise NotFound
    return True


async def find(tx: Tx | Glance, account_id: UUID, link_id: UUID) -> Link | None:
    row = (await tx.execute(_ONE, {"account_id": account_id, "link_id": link_id})).one_or_none()
    return None if row is None else _link(row)


async def find_for_change(tx: Tx, account_id: UUID, link_id: UUID) -> Link | None:
    """Nobody else changes it until the transaction ends (on SQLite it is the only writer anyway)."""
    locked = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id).with_for_update()
    await tx.execute(locked)
    return await find(tx, account_id, link_id)  # only now: what lies in other tables is not read anew by who waited


async def save(tx: Tx, before: Link, after: Link) -> None:
    """Writes only what differs."""
    old, new = asdict(before), asdict(after)
    values = {name: value for name, value in new.items() if value != old[name] and name not in _KEPT_ELSEWHERE}
    await tx.execute(update(links).where(links.c.id == after.id).values(**values, search_text=after.search_text))
    if before.tags != after.tags:
        await _drop_tags(tx, before)
        await _add_tags(tx, after)
    if before.pixel_ids != after.pixel_ids:
        await pixels.attach(tx, after.id, after.pixel_ids)


async def bury(tx: Tx, link: Link, at: datetime) -> None:
    await tx.execute(update(links).where(links.c.id == link.id).values(deleted_at=at, og_image_media=None))
    await release(tx, link.slug)
    await _drop_tags(tx, link)
    await pixels.attach(tx, link.id, [])
    await domains.move_link(tx, link.domain_id, None)
    await _count(tx, link.account_id, -1)


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

    `most`: of links that are picked out, no more than these are counted from the page's first one on: whatever is
    counted has to be looked at.
    """
    its_tag_leads = most is None or not await _is_common(tx, account_id, wanted.tag, most)
    conditions = [*_of_account(account_id, wanted.tag, leads=its_tag_leads), ALIVE]
    conditions += _conditions(account_id, wanted, now, tx.dialect.name)
    ordered = (*_FIRST[order], links.c.created_at.desc(), links.c.id.desc())
    # ids first: to sort all of an account's rows would take their memory, too
    source = _FROM.get(order, links)
    matching = select(links.c.id).select_from(source).where(*conditions).order_by(*ordered).offset(request.offset)
    is_led = wanted.tag is not None or (wanted.hostname is not None and not wanted.search)  # by an index of few links
    if order != "title" and not is_led and (wanted.search or order == "clicks"):  # SQLite would take the one by title
        index = "ix_links_search" if wanted.search else "ix_links_newest"
        matching = matching.with_hint(links, f"INDEXED BY {index}", "sqlite")
    here: Select[Any] | Sequence[UUID] = matching.limit(request.per_page)
    if wanted.is_everything or most is None:
        total = await _count_all(tx, account_id, wanted, conditions)
    else:
        found = (await tx.scalars(matching.limit(most + 1))).all()
        here, total = found[: request.per_page], request.offset + len(found)
    of_page = select(*COLUMNS).select_from(source).where(links.c.id.in_(here)).order_by(*ordered)
    return [_link(row) for row in await tx.execute(of_page)], total


async def _count_all(tx: Tx, account_id: UUID, wanted: Wanted, conditions: Sequence[ColumnElement[bool]]) -> int:
    if wanted.is_everything:  # counting a million rows would take longer than all the rest
        total = select(accounts.c.links_count).where(accounts.c.id == account_id)
    else:
        total = select(func.count()).select_from(links).where(*conditions)
    counted: int = (await tx.execute(total)).scalar_one()
    return counted


async def _is_common(tx: Tx, account_id: UUID, tag: str | None, most: int) -> bool:
    if tag is None:
        return False
    tagged = select(link_tags.c.link_id).where(link_tags.c.account_id == account_id, link_tags.c.tag == tag)
    return (await tx.execute(tagged.offset(most).limit(1))).first() is not None


async def slugs_of(tx: Tx, link_ids: Sequence[UUID]) -> list[str]:
    return list((await tx.execute(select(links.c.slug).where(links.c.id.in_(link_ids), ALIVE))).scalars())


async def slugs_on(tx: Tx, domain_id: UUID, limit: int) -> list[str]:
    on_it = select(links.c.slug).where(links.c.domain_id == domain_id, ALIVE)
    return list((await tx.execute(on_it.limit(limit))).scalars())


async def announce(tx: Tx, slugs_changed: Iterable[str], at: datetime) -> None:
    """Tells other processes, should this one die between its commit and `routes_changed`; and other machines anyway."""
    rows = [{"slug": slug, "at": at} for slug in slugs_changed]
    if tx.dialect.name == "postgresql":
        for row in rows:
            await tx.execute(text("SELECT pg_notify(:channel, :slug)"), {"channel": CHANNEL, "slug": row["slug"]})
        return
    if rows:
        await tx.execute(insert(route_changes), rows)
    await tx.execute(delete(route_changes).where(route_changes.c.at < at - _CHANGES_KEPT))


def _link(row: Sequence[Any]) -> Link:
    return Link(*row)


def _of_account(account_id: UUID, tag: str | None, *, leads: bool) -> Iterable[ColumnElement[bool]]:
    """Where few links have the tag, they lead: naming the account, too, would tempt SQLite to walk all of its links."""
    tagged = select(link_tags.c.link_id).where(link_tags.c.account_id == account_id, link_tags.c.tag == tag)
    if tag is None or not leads:
        yield links.c.account_id == account_id
    if tag is not None:
        yield links.c.id.in_(tagged) if leads else tagged.where(link_tags.c.link_id == links.c.id).exists()


def _conditions(account_id: UUID, wanted: Wanted, now: datetime, dialect: str) -> Iterable[ColumnElement[bool]]:
    if wanted.search:
        yield _holds(wanted.search.casefold(), dialect)
    if wanted.on_shared_domain:  # also of those whose domain is gone
        yield ~select(domains.domains).where(domains.domains.c.id == links.c.domain_id).exists()
    if wanted.hostname is not None:
        yield links.c.domain_id == domains.id_of(account_id, wanted.hostname)
    if wanted.status == "active":
        yield links.c.is_on & or_(links.c.expires_at.is_(None), links.c.expires_at > now)
    if wanted.status == "inactive":
        yield ~links.c.is_on | (links.c.expires_at <= now)


def _holds(wanted: str, dialect: str) -> ColumnElement[bool]:
    """SQLite's `instr` takes nearly twice as long as its GLOB."""
    if dialect == "postgresql":
        return func.strpos(links.c.search_text, wanted) > 0
    pattern = _GLOB_SIGNS.sub(r"[\g<0>]", wanted)
    return links.c.search_text.op("GLOB", is_comparison=True)(f"*{pattern}*")


async def _add_tags(tx: Tx, link: Link) -> None:
    rows: Sequence[Mapping[str, Any]] = [
        {"account_id": link.account_id, "tag": tag, "link_id": link.id} for tag in link.tags
    ]
    if rows:
        await tx.execute(insert(link_tags), rows)


async def _drop_tags(tx: Tx, link: Link) -> None:
    gone = (link_tags.c.account_id == link.account_id, link_tags.c.tag.in_(link.tags), link_tags.c.link_id == link.id)
    if link.tags:
        await tx.execute(delete(link_tags).where(*gone))


async def _count(tx: Tx, account_id: UUID, difference: int) -> bool:
    """False for an account that is closed."""
    its = accounts.c.id == account_id, accounts.c.closed_at.is_(None)
    counted = update(accounts).where(*its).values(links_count=accounts.c.links_count + difference)
    return (await tx.execute(counted)).rowcount > 0
