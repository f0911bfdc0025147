"""SQL of links, apart from lists. Other packages use some of it inside their transactions."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from waypost import accounts
from waypost.database import Id, PointRead, RowQuery, Tx
from waypost.kit.errors import NotFound
from waypost.redirect import path_digest
from waypost.resources import domains, pixels
from waypost.resources.links import aliases, routing, slug_store
from waypost.resources.links.model import (
    COLUMNS,
    HOSTNAME,
    NOT_DELETED,
    Link,
    link_clicks,
    link_tags,
    links,
    slugs,
)

_FIND = RowQuery(
    select(*COLUMNS).where(
        links.c.id == bindparam("link_id"), links.c.account_id == bindparam("account_id"), NOT_DELETED
    )
)
"""Built once: it is the API's most frequent statement, and building it took as long as running it."""

_IN_OTHER_TABLES = ("hostname", "clicks", "pixel_ids", "disabled_reason")

_ADD = {
    name: dialect.insert(links).on_conflict_do_nothing(index_elements=[links.c.id]).returning(links.c.id)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}

_DELETE_TAG = delete(link_tags).where(  # all columns of the key: an account can have very many tags
    link_tags.c.account_id == bindparam("account_id", type_=Id),
    link_tags.c.tag == bindparam("tag"),
    link_tags.c.link_id == bindparam("link_id", type_=Id),
)
_USE_SLUG = (
    update(slugs).where(slugs.c.slug == bindparam("used_slug")).values(link_id=bindparam("new_link_id", type_=Id))
)
_CHANGED_IN_BULK = ("domain_id", "tags", "expires_at", "is_enabled", "updated_at", "changed_by")
_SAVE_ALL = (
    update(links)
    .where(links.c.id == bindparam("link_id", type_=Id))
    .values({name: bindparam(f"new_{name}", type_=links.c[name].type) for name in _CHANGED_IN_BULK})
)
_SAVE_TEXT = update(links).where(links.c.id == bindparam("link_id", type_=Id)).values(search_text=bindparam("text"))

_BATCH = 500  # parameters of one statement

SHORT_LINKS = select(
    *(links.c.id, links.c.account_id, HOSTNAME.label("hostname"), links.c.slug, links.c.created_at, links.c.deleted_at)
).subquery("short_links")
"""Every link, deleted ones included, for queries of other packages. The databases merge it into them."""


async def add(tx: Tx, link: Link) -> bool:
    """Insert a link. False if its id is in use; a concurrent use of the id waits for the end of our transaction.

    Raises NotFound if the account has been deleted: nothing would ever delete the link then.
    """
    row = asdict(link) | {"search_text": link.search_text}
    for name in _IN_OTHER_TABLES:
        del row[name]
    if (await tx.execute(_ADD[tx.dialect.name], row)).one_or_none() is None:
        return False
    await tx.execute(insert(link_clicks), {"link_id": link.id, "account_id": link.account_id, "clicks": 0})
    await _add_tags(tx, link)
    if link.pixel_ids:
        await pixels.attach(tx, link.id, link.pixel_ids)
    if not await accounts.adjust_links_count(tx, link.account_id, 1):
        raise NotFound
    return True


async def find(tx: Tx | PointRead, account_id: UUID, link_id: UUID) -> Link | None:
    row = await _FIND.find(tx, {"account_id": account_id, "link_id": link_id})
    return None if row is None else Link(*row)


async def lock(tx: Tx, account_id: UUID, link_id: UUID) -> Link:
    """Lock and return the link. Raises NotFound."""
    lock_query = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id).with_for_update()
    await tx.execute(lock_query)
    return await get(tx, account_id, link_id)  # after the wait: a lock does not re-read rows of other tables


async def lock_all(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> dict[UUID, Link]:
    """Lock and return those of the links that exist, in the order of ids: two calls cannot wait for each other."""
    conditions = links.c.id.in_(ids), links.c.account_id == account_id
    await tx.execute(select(links.c.id).where(*conditions).order_by(links.c.id).with_for_update())
    rows = await tx.execute(select(*COLUMNS).where(*conditions, NOT_DELETED))
    return {row.id: Link(*row) for row in rows}


async def lock_any(tx: Tx, ids: Collection[UUID]) -> list[Link]:
    """Lock and return those of the links that exist, of any account, in the order of ids."""
    await tx.execute(select(links.c.id).where(links.c.id.in_(ids)).order_by(links.c.id).with_for_update())
    return await find_any(tx, ids)


async def find_any(tx: Tx, ids: Collection[UUID]) -> list[Link]:
    """Return those of the links that exist, of any account."""
    rows = await tx.execute(select(*COLUMNS).where(links.c.id.in_(ids), NOT_DELETED))
    return [Link(*row) for row in rows]


async def find_by_address(tx: Tx, host: str, path: str) -> UUID | None:
    """Return the id of the link with this slug, which are unique in the service, or with this alias."""
    query = select(links.c.id).where(links.c.slug == path, NOT_DELETED)
    alias = aliases.select_target(literal(host), literal(UUID(bytes=path_digest(path.encode())), Id))
    found: UUID | None = await tx.scalar(query) or await tx.scalar(alias)
    return found


async def save(tx: Tx, before: Link, after: Link) -> None:
    """Write the fields that differ."""
    old, new = asdict(before), asdict(after)
    values = {name: value for name, value in new.items() if value != old[name] and name not in _IN_OTHER_TABLES}
    if after.search_text != before.search_text:
        values["search_text"] = after.search_text + await aliases.find_search_text(tx, after.id)
    if values:
        await tx.execute(update(links).where(links.c.id == after.id).values(**values))
    if before.tags != after.tags:
        await _delete_tags(tx, before)
        await _add_tags(tx, after)
    if before.pixel_ids != after.pixel_ids:
        await pixels.attach(tx, after.id, after.pixel_ids)


async def save_all(tx: Tx, changes: Sequence[tuple[Link, Link]]) -> None:
    """Write what changes of many links can change, in few statements. `changes`: each link before and after."""
    if not changes:
        return
    rows = [
        {"link_id": new.id, **{f"new_{name}": getattr(new, name) for name in _CHANGED_IN_BULK}} for _, new in changes
    ]
    await tx.execute(_SAVE_ALL, rows)
    retagged = [(old, new) for old, new in changes if old.tags != new.tags]
    await _delete_tags(tx, *(old for old, _ in retagged))
    await _add_tags(tx, *(new for _, new in retagged))
    for old, new in changes:
        if old.pixel_ids != new.pixel_ids:
            await pixels.attach(tx, new.id, new.pixel_ids)


async def save_search_text(tx: Tx, link: Link) -> None:
    text_ = link.search_text + await aliases.find_search_text(tx, link.id)
    await tx.execute(update(links).where(links.c.id == link.id).values(search_text=text_))


async def save_search_texts(tx: Tx, saved: Sequence[Link]) -> None:
    """Do what `save_search_text` does, in few statements."""
    of_links = await aliases.find_of_links(tx, [link.id for link in saved])
    rows = [
        {
            "link_id": link.id,
            "text": link.search_text + aliases.to_search_text(alias.path for alias in of_links.get(link.id, ())),
        }
        for link in saved
    ]
    if rows:
        await tx.execute(_SAVE_TEXT, rows)


async def mark_deleted(tx: Tx, deleted: Sequence[Link], at: datetime) -> None:
    """Mark links of one account as deleted."""
    await mark_all_deleted(tx, [link.id for link in deleted], [link.slug for link in deleted], at)
    await _delete_tags(tx, *deleted)
    await domains.change_links_counts(tx, [(link.domain_id, None) for link in deleted])
    await accounts.adjust_links_count(tx, deleted[0].account_id, -len(deleted))


async def hide(tx: Tx, hidden: Sequence[Link], at: datetime) -> None:
    """Delete links of one account so that `unhide` can restore them: pixels, aliases and images stay."""
    if not hidden:
        return
    await tx.execute(update(links).where(links.c.id.in_([link.id for link in hidden])).values(deleted_at=at))
    await slug_store.release_slugs(tx, [link.slug for link in hidden])
    await _delete_tags(tx, *hidden)
    await domains.change_links_counts(tx, [(link.domain_id, None) for link in hidden])
    await accounts.adjust_links_count(tx, hidden[0].account_id, -len(hidden))


async def find_hidden(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> list[Link]:
    """Return deleted links in the order of their ids, and lock them."""
    conditions = links.c.id.in_(ids), links.c.account_id == account_id, links.c.deleted_at.is_not(None)
    await tx.execute(select(links.c.id).where(*conditions).order_by(links.c.id).with_for_update())
    return [Link(*row) for row in await tx.execute(select(*COLUMNS).where(*conditions).order_by(links.c.id))]


async def unhide(tx: Tx, hidden: Sequence[Link]) -> list[Link]:
    """Restore those of the hidden links whose slugs are not in use again. The caller changes the counters of links."""
    is_free = or_(slugs.c.link_id.is_(None), slugs.c.link_id.in_([link.id for link in hidden]))
    unused = select(slugs.c.slug).where(slugs.c.slug.in_([link.slug for link in hidden]), is_free)
    free = set(await tx.scalars(unused.order_by(slugs.c.slug).with_for_update()))
    restored = [link for link in hidden if link.slug in free]
    if restored:
        await tx.execute(_USE_SLUG, [{"used_slug": link.slug, "new_link_id": link.id} for link in restored])
        await tx.execute(update(links).where(links.c.id.in_([link.id for link in restored])).values(deleted_at=None))
        await _add_tags(tx, *restored)
    return restored


async def mark_all_deleted(tx: Tx, ids: Sequence[UUID], their_slugs: Sequence[str], at: datetime) -> None:
    """Mark links as deleted, detach their slugs and pixels, and delete their aliases and routing.

    Tags and counters are left to the caller.
    """
    values = {"deleted_at": at, "og_image_file_name": None, "og_image_bytes": 0}
    await tx.execute(update(links).where(links.c.id.in_(ids)).values(values))
    await slug_store.release_slugs(tx, their_slugs)
    await pixels.detach_from_links(tx, ids)
    await aliases.delete_of_links(tx, ids)
    await routing.delete_of_links(tx, ids)


async def get(tx: Tx | PointRead, account_id: UUID, link_id: UUID) -> Link:
    """Return a link. Raises NotFound, also for a deleted link and for one of another account."""
    link = await find(tx, account_id, link_id)
    if link is None:
        raise NotFound
    return link


async def require_exists(tx: Tx, account_id: UUID, link_id: UUID) -> None:
    """Raise NotFound as `get` does, without reading the link."""
    query = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id, NOT_DELETED)
    if (await tx.execute(query)).first() is None:
        raise NotFound


async def find_names(tx: Tx, ids: Sequence[UUID], *, shared_domain: str) -> dict[UUID, tuple[str, str]]:
    """Return (short URL, title) of each link that is not deleted. For about a page of ids."""
    hostname = func.coalesce(HOSTNAME, shared_domain)
    query = select(links.c.id, hostname, links.c.slug, links.c.title).where(links.c.id.in_(ids), NOT_DELETED)
    return {link_id: (f"{host}/{slug}", title) for link_id, host, slug, title in await tx.execute(query)}


async def find_accounts(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Return the account of each link, deleted ones included."""
    ids = list(link_ids)
    accounts: dict[UUID, UUID] = {}
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        rows = await tx.execute(select(links.c.id, links.c.account_id).where(links.c.id.in_(batch)))
        accounts |= {row.id: row.account_id for row in rows}
    return accounts


async def _add_tags(tx: Tx, *tagged: Link) -> None:
    if rows := _tag_rows(tagged):
        await tx.execute(insert(link_tags), rows)


async def _delete_tags(tx: Tx, *tagged: Link) -> None:
    if rows := _tag_rows(tagged):
        await tx.execute(_DELETE_TAG, rows)


def _tag_rows(tagged: Sequence[Link]) -> list[dict[str, Any]]:
    return [{"account_id": link.account_id, "tag": tag, "link_id": link.id} for link in tagged for tag in link.tags]
