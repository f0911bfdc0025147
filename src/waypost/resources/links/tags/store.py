"""SQL of tags. What writes tags of links counts the links of each here, in the same transaction."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Select, bindparam, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from waypost.database import Id, Tx, bulk
from waypost.kit.clock import EPOCH
from waypost.kit.errors import or_not_found
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.resources.links.model import link_clicks, link_tags
from waypost.resources.links.tags.model import Tag, TagColor, tags

MAX_SUMMED = 50_000
"""Links of the tags of a page whose clicks are added up when it is read. Those of others were counted before."""

_TAG = select(*(tags.c[name] for name in Tag.__dataclass_fields__))
_ADD_LINKS = "ON CONFLICT (account_id, name) DO UPDATE SET links_count = tags.links_count + excluded.links_count"
_SET_COLOR = "ON CONFLICT (account_id, name) DO UPDATE SET color = excluded.color WHERE tags.color = 'gray'"
_KEEP = "ON CONFLICT (account_id, name) DO NOTHING"


async def change_links_counts(
    tx: Tx, account_id: UUID, moves: Iterable[tuple[Collection[str], Collection[str]]], at: datetime
) -> None:
    """Count the links of tags, and add the tags that are missing. `moves`: tags of each link before and after.

    Call it once in a transaction, before it locks the account. It locks the tags in the order of their names, so that
    two calls cannot wait for each other, nor a tag be renamed before the links are written.
    """
    steps = Counter[str]()
    for before, after in moves:
        steps.update({*after} - {*before})
        steps.subtract({*before} - {*after})
    changed = sorted((name, step) for name, step in steps.items() if step)
    await bulk.insert(tx, tags, [_row(account_id, name, at, step) for name, step in changed], on_conflict=_ADD_LINKS)


async def add(tx: Tx, account_id: UUID, name: str, color: TagColor, at: datetime, *, links_count: int = 0) -> bool:
    """Return False if there is a tag of this name."""
    row = _row(account_id, name, at, links_count, color)
    return await bulk.insert(tx, tags, [row], on_conflict=_KEEP) > 0


async def add_many(tx: Tx, account_id: UUID, colors: Mapping[str, TagColor], at: datetime, *, limit: int) -> list[str]:
    """Give the tags their colors, unless they have another one than that of new tags. Add those that are missing.

    Return those that are left out, because the account has `limit` tags.
    """
    here = await find_colors(tx, account_id, colors)
    missing = [name for name in colors if name not in here]
    added = missing[: limit - await count(tx, account_id, limit)]
    rows = [_row(account_id, name, at, 0, colors[name]) for name in sorted({*here, *added})]
    await bulk.insert(tx, tags, rows, on_conflict=_SET_COLOR)
    return missing[len(added) :]


def _row(account_id: UUID, name: str, at: datetime, links_count: int, color: TagColor = "gray") -> bulk.BulkRow:
    values: dict[str, Any] = {"id": new_id(), "account_id": account_id, "color": color}
    values |= {"name": name, "folded_name": name.casefold(), "links_count": links_count, "clicks": 0}
    return bulk.to_row(tags, values | {"counted_at": EPOCH, "created_at": at, "updated_at": at})


async def get(tx: Tx, account_id: UUID, tag_id: UUID) -> Tag:
    """Raises NotFound."""
    return or_not_found(await tx.find(Tag, _TAG.where(tags.c.id == tag_id, tags.c.account_id == account_id)))


async def find(tx: Tx, account_id: UUID, name: str) -> Tag | None:
    return await tx.find(Tag, _TAG.where(tags.c.account_id == account_id, tags.c.name == name))


async def lock(tx: Tx, account_id: UUID, names: Collection[str]) -> dict[str, Tag]:
    """Lock and return those of the tags that exist: until the transaction ends, no link gets or loses them."""
    query = _TAG.where(tags.c.account_id == account_id, tags.c.name.in_(names))
    return {row.name: Tag(*row) for row in await tx.execute(query.order_by(tags.c.name).with_for_update())}


async def save(tx: Tx, tag: Tag) -> bool:
    """Return False if there is another tag of this name now. The transaction has failed then."""
    values: dict[str, Any] = {"name": tag.name, "folded_name": tag.name.casefold(), "color": tag.color}
    values |= {"links_count": tag.links_count, "updated_at": tag.updated_at}
    try:
        await tx.execute(update(tags).where(tags.c.id == tag.id).values(values))
    except IntegrityError:
        return False
    return True


async def delete_unused(tx: Tx, account_id: UUID, name: str) -> bool:
    """Delete the tag if no link has it, and return whether it is gone."""
    await lock(tx, account_id, [name])
    if await find_tagged(tx, account_id, name, None, 1):
        return False
    await tx.execute(delete(tags).where(tags.c.account_id == account_id, tags.c.name == name))
    return True


async def end_id(tx: Tx, account_id: UUID, name: str) -> None:
    """Give the tag another id."""
    await tx.execute(update(tags).where(tags.c.account_id == account_id, tags.c.name == name).values(id=new_id()))


def current_tag(account_id: Column[Any], tag_id: Column[Any], part: Literal["id", "name"]) -> ColumnElement[Any]:
    """Scalar subquery: the id or name of a tag, null if it is gone."""
    return select(tags.c[part]).where(tags.c.id == tag_id, tags.c.account_id == account_id).scalar_subquery()


async def count(tx: Tx, account_id: UUID, limit: int) -> int:
    """Count the tags, up to `limit`."""
    some = select(tags.c.id).where(tags.c.account_id == account_id).limit(limit)
    return await tx.scalar(select(func.count()).select_from(some.subquery())) or 0


async def find_tagged(tx: Tx, account_id: UUID, name: str, after: UUID | None, limit: int) -> Sequence[UUID]:
    """Return the next links that have the tag, in the order of their ids."""
    query = select(link_tags.c.link_id).where(link_tags.c.account_id == account_id, link_tags.c.tag == name)
    if after:
        query = query.where(link_tags.c.link_id > after)
    return (await tx.scalars(query.order_by(link_tags.c.link_id).limit(limit))).all()


async def count_tagged(tx: Tx, account_id: UUID, name: str) -> int:
    query = select(func.count()).where(link_tags.c.account_id == account_id, link_tags.c.tag == name)
    return await tx.scalar(query) or 0


async def list_page(tx: Tx, account_id: UUID, search: str, request: PageRequest) -> Page[Tag]:
    """Return the tags of the page in alphabetical order. `search`: a text in their names, in upper or lower case."""
    condition = tags.c.account_id == account_id
    if search:
        position = func.strpos if tx.dialect.name == "postgresql" else func.instr
        condition &= position(tags.c.folded_name, search.casefold()) > 0
    query = _TAG.where(condition).order_by(tags.c.folded_name, tags.c.name)
    found = [Tag(*row) for row in await tx.execute(query.limit(request.per_page).offset(request.offset))]
    total = await tx.scalar(select(func.count()).select_from(tags).where(condition)) or 0
    return Page(await with_counts(tx, account_id, found), total, request)


async def with_counts(tx: Tx, account_id: UUID, found: Sequence[Tag]) -> list[Tag]:
    """Return the tags with their links and clicks now; with their clicks at the last count if they have many links."""
    names, remaining = list[str](), MAX_SUMMED
    for tag in sorted(found, key=lambda tag: tag.links_count):
        remaining -= tag.links_count
        if remaining < 0:
            break
        names.append(tag.name)
    query = _sum(link_tags.c.tag, account_id=account_id).where(link_tags.c.tag.in_(names)).group_by(link_tags.c.tag)
    sums = {name: counts for name, *counts in await tx.execute(query)} if names else {}
    summed = dict.fromkeys(names, (0, 0)) | {name: (links, int(clicks)) for name, (links, clicks) in sums.items()}
    return [
        replace(tag, links_count=summed[tag.name][0], clicks=summed[tag.name][1]) if tag.name in summed else tag
        for tag in found
    ]


async def sum_clicks(tx: Tx, account_id: UUID, name: str) -> int:
    """Add up the clicks of all links of the tag."""
    return int((await tx.execute(_sum(account_id=account_id).where(link_tags.c.tag == name))).one()[1])


def _sum(*columns: Any, account_id: UUID) -> Select[Any]:
    counts = func.count(), func.coalesce(func.sum(link_clicks.c.clicks), 0)
    query = select(*columns, *counts).select_from(link_tags)
    query = query.outerjoin(link_clicks, link_clicks.c.link_id == link_tags.c.link_id)
    return query.where(link_tags.c.account_id == account_id)


def choices_query(account_id: Any, limit: int) -> Select[Any]:
    """Select (name, color) of the first tags in alphabetical order."""
    query = select(tags.c.name, tags.c.color).where(tags.c.account_id == account_id)
    return query.order_by(tags.c.folded_name, tags.c.name).limit(limit)


_COLORS = select(tags.c.name, tags.c.color).where(
    tags.c.account_id == bindparam("account_id", type_=Id), tags.c.name.in_(bindparam("names", expanding=True))
)


async def find_colors(tx: Tx, account_id: UUID, names: Collection[str]) -> Mapping[str, TagColor]:
    """Return the color of each of the tags. For a page of links."""
    if not names:
        return {}
    return dict(await tx.execute(_COLORS, {"account_id": account_id, "names": list(names)}))


async def delete_all(tx: Tx, account_id: UUID, limit: int) -> int:
    """Delete up to `limit` tags of a deleted account, and return how many."""
    some = select(tags.c.id).where(tags.c.account_id == account_id).limit(limit)
    return (await tx.execute(delete(tags).where(tags.c.id.in_(some)))).rowcount
