"""SQL of links and slugs, apart from lists. Other packages use some of it inside their transactions.

Only the database decides whether a slug is free, so that no two links get the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from urllib.parse import unquote, urlsplit
from uuid import UUID

from sqlalchemy import Update, bindparam, delete, func, literal, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from waypost.database import Database, Id, Tx, bulk, counts, rows_with
from waypost.kit.errors import or_not_found
from waypost.kit.slug_style import DEFAULT_SLUGS, SlugStyle
from waypost.redirect import fold, near_change, path_digest
from waypost.resources import domains, pixels
from waypost.resources.links import aliases, health, routing
from waypost.resources.links.model import (
    COLUMNS,
    HOSTNAME,
    NOT_DELETED,
    Link,
    disabled_links,
    link_clicks,
    link_tags,
    links,
    slugs,
)

_FIND = select(*COLUMNS).where(
    links.c.id == bindparam("link_id"), links.c.account_id == bindparam("account_id"), NOT_DELETED
)
"""Built once: it is the API's most frequent statement, and building it took as long as running it."""

_OWN = tuple(name for name in Link.__dataclass_fields__ if name in links.c)
"""Fields of a link in its row."""

_DELETE_TAG = delete(link_tags).where(  # all columns of the key: an account can have very many tags
    link_tags.c.account_id == bindparam("account_id", type_=Id),
    link_tags.c.tag == bindparam("tag"),
    link_tags.c.link_id == bindparam("link_id", type_=Id),
)
_USE_SLUG = (
    update(slugs).where(slugs.c.slug == bindparam("used_slug")).values(link_id=bindparam("new_link_id", type_=Id))
)
_SAVE_TEXT = update(links).where(links.c.id == bindparam("link_id", type_=Id)).values(search_text=bindparam("text"))

_SAMPLE = 200  # slugs: the share that is free is right within some 4 %

SlugOwner = tuple[UUID, UUID | None]
"""The account that has a slug, and the link that uses it."""

_TAKE_OWN = (
    "ON CONFLICT (slug) DO UPDATE SET link_id = excluded.link_id"
    " WHERE slugs.account_id = excluded.account_id AND slugs.link_id IS NULL"
)
_TAKE_UNUSED = "ON CONFLICT (slug) DO NOTHING"

SHORT_LINKS = select(
    *(links.c.id, links.c.account_id, links.c.domain_id, HOSTNAME.label("hostname"), links.c.slug),
    *(links.c.created_at, links.c.deleted_at),
).subquery("short_links")
"""Every link, deleted ones included, for queries of other packages. The databases merge it into them."""


async def add(tx: Tx, new: Sequence[Link], search_texts: Mapping[UUID, str]) -> bool:
    """Insert links whose slugs are reserved. False if an id is in use; its concurrent use waits for our commit.

    `search_texts`: what searches also find the links by. Raises IntegrityError for an external ID that is in use.
    """
    rows = [
        bulk.to_row(links, {name: getattr(link, name) for name in _OWN} | {"search_text": link.search_text + more})
        for link, more in ((link, search_texts.get(link.id, "")) for link in new)
    ]
    if await bulk.insert(tx, links, rows, on_conflict="ON CONFLICT (id) DO NOTHING") < len(rows):
        return False
    await bulk.insert(tx, link_clicks, [(link.id.bytes, link.account_id.bytes, 0, None) for link in new])
    await _add_tags(tx, new)
    if attached := {link.id: link.pixel_ids for link in new if link.pixel_ids}:
        await pixels.attach_to_new(tx, attached)
    return True


async def find(tx: Tx, account_id: UUID, link_id: UUID) -> Link | None:
    return await tx.find(Link, _FIND, {"account_id": account_id, "link_id": link_id})


async def lock(tx: Tx, account_id: UUID, link_id: UUID) -> Link:
    """Lock and return the link. Raises NotFound."""
    lock_query = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id).with_for_update()
    await tx.execute(lock_query)
    return await get(tx, account_id, link_id)  # after the wait: a lock does not re-read rows of other tables


async def lock_all(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> dict[UUID, Link]:
    """Lock and return those of the links that exist, in the order of ids: two calls cannot wait for each other."""
    conditions = links.c.id.in_(ids), links.c.account_id == account_id
    await tx.execute(select(links.c.id).where(*conditions).order_by(links.c.id).with_for_update())
    return await find_own(tx, account_id, ids)


async def lock_any(tx: Tx, ids: Collection[UUID]) -> list[Link]:
    """Lock and return those of the links that exist, of any account, in the order of ids."""
    await tx.execute(select(links.c.id).where(links.c.id.in_(ids)).order_by(links.c.id).with_for_update())
    return await find_any(tx, ids)


async def count_added(tx: Tx, days: Iterable[int]) -> list[int]:
    return await counts.count_added(tx, links.c.id, days)


async def find_any(tx: Tx, ids: Collection[UUID]) -> list[Link]:
    """Return those of the links that exist, of any account."""
    rows = await tx.execute(select(*COLUMNS).where(links.c.id.in_(ids), NOT_DELETED))
    return [Link(*row) for row in rows]


async def find_by_address(tx: Tx, host: str, path: str) -> UUID | None:
    """Return the id of the link with this slug, which are unique in the service, or with this alias."""
    query = select(links.c.id).where(links.c.slug == path, NOT_DELETED)
    alias = aliases.select_target(literal(host), literal(UUID(bytes=path_digest(path.encode())), Id))
    return await tx.scalar(query) or await tx.scalar(alias)


async def find_by_url(tx: Tx, url: str) -> UUID | None:
    """Find a link by its short URL, also without the scheme or with a plus. Slugs are unique in the service."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, path = (parts.hostname or "").lower(), unquote(parts.path).removeprefix("/").removesuffix("+")
    except ValueError:
        return None
    return await find_by_address(tx, host, path or host) if (host + path).isprintable() else None


async def save(tx: Tx, changes: Sequence[tuple[Link, Link]]) -> None:
    """Write the fields that differ. `changes`: each link before and after, locked by the transaction.

    Raises IntegrityError for an external ID that is in use.
    """
    names = tuple(
        name for name in _OWN if any(getattr(before, name) != getattr(after, name) for before, after in changes)
    )
    if names:
        rows = [
            {"link_id": after.id, **{f"new_{name}": getattr(after, name) for name in names}} for _, after in changes
        ]
        await tx.execute(_update(names), rows)
    await save_search_texts(tx, [after for before, after in changes if before.search_text != after.search_text])
    retagged = [(before, after) for before, after in changes if before.tags != after.tags]
    await _delete_tags(tx, [before for before, _ in retagged])
    await _add_tags(tx, [after for _, after in retagged])
    for before, after in changes:
        if before.pixel_ids != after.pixel_ids:
            await pixels.attach(tx, after.id, after.pixel_ids)


@lru_cache
def _update(names: tuple[str, ...]) -> Update:
    values = {name: bindparam(f"new_{name}", type_=links.c[name].type) for name in names}
    return update(links).where(links.c.id == bindparam("link_id", type_=Id)).values(values)


async def save_search_texts(tx: Tx, saved: Sequence[Link]) -> None:
    """Store what searches find the links by: also after a change of their aliases."""
    if not saved:
        return
    of_links = await aliases.find_of_links(tx, [link.id for link in saved])
    rows = [
        {
            "link_id": link.id,
            "text": link.search_text + aliases.to_search_text(alias.path for alias in of_links.get(link.id, ())),
        }
        for link in saved
    ]
    await tx.execute(_SAVE_TEXT, rows)


async def hide(tx: Tx, hidden: Sequence[Link], at: datetime) -> None:
    """Delete links so that `unhide` can restore them: pixels, aliases, routing and images stay until `purge`.

    Counters and routes are left to the caller.
    """
    await tx.execute(update(links).where(links.c.id.in_([link.id for link in hidden])).values(deleted_at=at))
    await release_slugs(tx, [link.slug for link in hidden])
    await _delete_tags(tx, hidden)


async def purge(tx: Tx, ids: Sequence[UUID]) -> None:
    """Delete what hidden links still have. Their rows stay, so that clicks find their account.

    Files of images and the storage that they used are left to the caller.
    """
    image = {"og_image_file_name": None, "og_image_bytes": 0}
    await tx.execute(update(links).where(links.c.id.in_(ids)).values(image))
    await pixels.detach_from_links(tx, ids)
    await aliases.delete_of_links(tx, ids)
    await routing.delete_of_links(tx, ids)
    await health.delete_of_links(tx, ids)


async def find_hidden(tx: Tx, account_id: UUID, ids: Collection[UUID]) -> list[Link]:
    """Return deleted links in the order of their ids, and lock them."""
    conditions = links.c.id.in_(ids), links.c.account_id == account_id, links.c.deleted_at.is_not(None)
    await tx.execute(select(links.c.id).where(*conditions).order_by(links.c.id).with_for_update())
    return [Link(*row) for row in await tx.execute(select(*COLUMNS).where(*conditions).order_by(links.c.id))]


async def unhide(tx: Tx, hidden: Sequence[Link]) -> list[Link]:
    """Restore those of the hidden links of one account whose slugs and external IDs are not in use again.

    The caller changes the counters of links.
    """
    is_free = or_(slugs.c.link_id.is_(None), slugs.c.link_id.in_([link.id for link in hidden]))
    unused = select(slugs.c.slug).where(slugs.c.slug.in_([link.slug for link in hidden]), is_free)
    free = set(await tx.scalars(unused.order_by(slugs.c.slug).with_for_update()))
    restored = await _show(tx, [link for link in hidden if link.slug in free])
    if restored:
        await tx.execute(_USE_SLUG, [{"used_slug": link.slug, "new_link_id": link.id} for link in restored])
        await _add_tags(tx, restored)
    return restored


async def leave_deleted_domains(tx: Tx, restored: Sequence[Link]) -> None:
    """Move those whose domain is gone to the shared one. `domains.change_links_counts` has locked the others."""
    with_domain = links.c.id.in_([link.id for link in restored]), links.c.domain_id.is_not(None)
    is_gone = domains.is_on_shared_domain(links.c.domain_id)
    await tx.execute(update(links).where(*with_domain, is_gone).values(domain_id=None))


async def _show(tx: Tx, hidden: list[Link]) -> list[Link]:
    """Return those that are no longer deleted: their external IDs were not in use."""
    hidden = list({link.external_id or link.id: link for link in hidden}.values())  # two may have had the same
    while hidden:
        taken = await find_external(tx, hidden[0].account_id, [link.external_id for link in hidden])
        hidden = [link for link in hidden if link.external_id not in taken]
        shown = update(links).where(links.c.id.in_([link.id for link in hidden])).values(deleted_at=None)
        try:
            async with tx.begin_nested():
                await tx.execute(shown)
        except IntegrityError as error:  # an external ID was committed since they were read: it is found now
            if "external_id" not in str(error.orig):
                raise
        else:
            break
    return hidden


async def get(tx: Tx, account_id: UUID, link_id: UUID) -> Link:
    """Return a link. Raises NotFound, also for a deleted link and for one of another account."""
    return or_not_found(await find(tx, account_id, link_id))


async def require_exists(tx: Tx, account_id: UUID, link_id: UUID) -> None:
    """Raise NotFound as `get` does, without reading the link."""
    query = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id, NOT_DELETED)
    or_not_found(await tx.scalar(query))


async def find_names(
    tx: Tx, account_id: UUID | None, ids: Collection[UUID], *, shared_domain: str
) -> dict[UUID, tuple[str, str]]:
    """Return (short URL, title) of each link that is not deleted, of any number.

    `account_id`: links of others are left out. None only for ids that nobody can choose.
    """
    hostname = func.coalesce(HOSTNAME, shared_domain)
    query = select(links.c.id, hostname, links.c.slug, links.c.title).where(NOT_DELETED)
    if account_id:
        query = query.where(links.c.account_id == account_id)
    rows = await rows_with(tx, query, links.c.id, ids)
    return {link_id: (f"{host}/{slug}", title) for link_id, host, slug, title in rows}


async def find_own(tx: Tx, account_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Link]:
    """Return those of the links that exist, of any number."""
    query = select(*COLUMNS).where(links.c.account_id == account_id, NOT_DELETED)
    return {row.id: Link(*row) for row in await rows_with(tx, query, links.c.id, ids)}


async def find_in_order(tx: Tx, account_id: UUID, ids: Sequence[UUID]) -> list[Link]:
    """Return those of the links that exist, in the order of `ids`."""
    found = await find_own(tx, account_id, ids)
    return [found[id_] for id_ in ids if id_ in found]


async def find_external(tx: Tx, account_id: UUID, external_ids: Iterable[str | None]) -> dict[str | None, UUID]:
    """Return the links that have these external IDs."""
    query = select(links.c.external_id, links.c.id).where(links.c.account_id == account_id, NOT_DELETED)
    rows = await rows_with(tx, query, links.c.external_id, filter(None, external_ids))
    return {row.external_id: row.id for row in rows}


async def find_domains(tx: Tx, account_id: UUID, ids: Iterable[UUID]) -> dict[UUID, UUID | None]:
    """Return the domain of each of the links that exists; None is the shared domain."""
    query = select(links.c.id, links.c.domain_id).where(links.c.account_id == account_id, NOT_DELETED)
    return {row.id: row.domain_id for row in await rows_with(tx, query, links.c.id, ids)}


async def find_accounts(tx: Tx, link_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Return the account of each link, deleted ones included."""
    query = select(links.c.id, links.c.account_id)
    return {row.id: row.account_id for row in await rows_with(tx, query, links.c.id, link_ids)}


async def reserve_slugs(tx: Tx, links: Sequence[Link]) -> dict[UUID, SlugOwner]:
    """Reserve the slugs that are unused, or that the account used before. Return who has the others, by link.

    A concurrent call for one of them waits for our commit.
    """
    return await _reserve(tx, links, _TAKE_OWN)


async def generate_slugs(
    tx: Tx, links: Sequence[Link], reserved: Collection[str], shared_style: SlugStyle = DEFAULT_SLUGS
) -> dict[UUID, Link]:
    """Return the links with slugs that were never used: a generated one must not revive a printed QR code.

    `shared_style`: of those on the shared domain.
    """
    from waypost.resources.links import rules  # noqa: PLC0415  # redirects do without it

    named: dict[UUID, Link] = {}
    ids = {link.domain_id for link in links if link.domain_id}
    styles = await domains.find_slug_styles(tx, ids) if ids else {}

    def new_slug(link: Link, attempt: int) -> str:
        style = styles.get(link.domain_id, DEFAULT_SLUGS) if link.domain_id else shared_style
        return rules.generate_slug(attempt, reserved, style)

    attempt = 0
    while links:
        new = [replace(link, slug=new_slug(link, attempt)) for link in links]
        taken = await _reserve(tx, new, _TAKE_UNUSED)
        named |= {link.id: link for link in new if link.id not in taken}
        links = [link for link in new if link.id in taken]
        attempt += 1
    return named


async def find_free_share(db: Database, reserved: Collection[str], style: SlugStyle) -> float:
    """Return which share of the possible slugs was never used, by a sample: all of them are too many to count."""
    from waypost.resources.links import rules  # noqa: PLC0415  # redirects do without it

    drawn = {rules.generate_slug(0, reserved, style) for _ in range(_SAMPLE)}
    async with db.read() as tx:
        return 1 - len(await find_slug_owners(tx, drawn)) / len(drawn)


async def _reserve(tx: Tx, links: Sequence[Link], on_conflict: str) -> dict[UUID, SlugOwner]:
    first = {link.slug: link for link in reversed(links)}  # PostgreSQL refuses a slug twice in one statement
    # sorted: two transactions that want the same slugs wait for each other in the same order
    rows = sorted((link.slug, link.account_id.bytes, link.id.bytes) for link in first.values())
    if await bulk.insert(tx, slugs, rows, on_conflict=on_conflict) == len(links):
        return {}
    owners = await find_slug_owners(tx, first)
    return {link.id: owners[link.slug] for link in links if owners[link.slug][1] != link.id}


async def reserve_unlinked(tx: Tx, account_id: UUID, unlinked: Iterable[str]) -> None:
    """Reserve the slugs of deleted links for the account, as far as they are unused."""
    await bulk.insert(
        tx, slugs, [(slug, account_id.bytes, None) for slug in sorted({*unlinked})], on_conflict=_TAKE_UNUSED
    )


async def release_slugs(tx: Tx, released: Collection[str]) -> None:
    """Detach slugs from their links. The account keeps them, because printed QR codes contain them.

    That of a link that the operator disabled stays with it, so that no other link gets it.
    """
    if not released:
        return
    is_kept = select(disabled_links.c.link_id).where(disabled_links.c.slug == slugs.c.slug).exists()
    await tx.execute(update(slugs).where(slugs.c.slug.in_(released), ~is_kept).values(link_id=None))


async def delete_slugs(tx: Tx, account_id: UUID) -> None:
    """Let others use the slugs of a deleted account. Only for links that nobody has printed: see `waypost demo`."""
    await tx.execute(delete(slugs).where(slugs.c.account_id == account_id))


async def find_slug_owner(tx: Tx, slug: str) -> SlugOwner | None:
    """Return the account that has the slug, and the link that uses it; None if the slug was never used."""
    row = (await tx.execute(select(slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == slug))).one_or_none()
    return None if row is None else (row.account_id, row.link_id)


def near_changes(named: Iterable[Link]) -> set[str]:
    """Return what to publish for links that get or regain their slugs, besides these."""
    return {near_change(link.slug) for link in named if link.folded_slug}


async def find_twin(tx: Tx, account_id: UUID, domain_id: UUID | None, slug: str, link_id: UUID | None) -> Link | None:
    """Return another link of the account on the domain, whose slug a person chose and which differs only by case."""
    is_twin = links.c.folded_slug == fold(slug.encode()).decode(), links.c.domain_id.is_not_distinct_from(domain_id)
    is_other = links.c.account_id == account_id, links.c.id != link_id if link_id else true()
    query = select(*COLUMNS).where(*is_twin, *is_other, NOT_DELETED)
    return await tx.find(Link, query.limit(1))


async def find_slug_owners(tx: Tx, texts: Iterable[str]) -> dict[str, SlugOwner]:
    """Return who has those of the slugs that were ever used."""
    return {
        slug: (UUID(bytes=account), UUID(bytes=link) if link else None)
        for slug, account, link in await bulk.find(tx, slugs, [(text,) for text in sorted(set(texts))])
    }


async def _add_tags(tx: Tx, tagged: Sequence[Link]) -> None:
    rows = ((link.account_id.bytes, tag, link.id.bytes) for link in tagged for tag in link.tags)
    await bulk.insert(tx, link_tags, sorted(rows))


async def _delete_tags(tx: Tx, tagged: Sequence[Link]) -> None:
    rows = [{"account_id": link.account_id, "tag": tag, "link_id": link.id} for link in tagged for tag in link.tags]
    if rows:
        await tx.execute(_DELETE_TAG, rows)
