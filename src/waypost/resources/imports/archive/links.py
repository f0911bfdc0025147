"""Stores the links of an archive, in the transaction of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.resources import domains, links, pixels
from waypost.resources.imports import store
from waypost.resources.imports.archive import drafts as decisions
from waypost.resources.imports.archive.aliases import insert_free
from waypost.resources.imports.archive.context import Context
from waypost.resources.imports.archive.drafts import Change, Draft
from waypost.resources.imports.archive.routing import merge
from waypost.resources.imports.run import Page
from waypost.resources.links import Link, aliases, routing
from waypost.resources.links import rules as link_rules
from waypost.resources.links import store as link_store
from waypost.resources.links.bulk import batch
from waypost.resources.links.routing import LinkRouting

_KEPT = {
    *("id", "account_id", "slug", "clicks", "og_image_file_name", "og_image_bytes", "created_at", "created_by"),
    *("starts_at", "click_limit"),  # they belong to the routing
    "disabled_reason",
}
"""Fields of a link that a changed row does not change."""


async def save(context: Context, tx: Tx, drafts: Sequence[Draft], done: Page) -> None:
    """Add what is not here, and change what has changed in the archive. Publishes the routes."""
    new, changed, unchanged = await decisions.decide(context, tx, drafts)
    added = await _add(context, tx, new, done)
    updated = await _change(context, tx, changed, done)
    done.counts.created, done.counts.updated = len(added), len(updated)
    done.counts.unchanged = unchanged + len(changed) - len(updated)
    saved = added | updated
    keys = {context.key_of(draft.row.id): (link_id, draft.digest) for link_id, draft in saved.items()}
    await store.save_links(tx, context.account_id, keys)
    counts = {link_id: draft.row.imported_clicks for link_id, draft in saved.items() if draft.row.imported_clicks}
    await batch.set_imported_clicks(tx, context.account_id, counts)
    done.counts.imported_clicks = sum(counts.values())
    await context.deps.routes.changed(tx, done.changes)


async def _add(context: Context, tx: Tx, new: Sequence[Draft], done: Page) -> dict[UUID, Draft]:
    """Return the drafts by the ids of the links."""
    in_use = await links.find_accounts(tx, [draft.link.id for draft in new])
    by_id = {new_id() if draft.link.id in in_use else draft.link.id: draft for draft in new}
    protected = [
        _protected(replace(draft.link, id=id_, created_by=context.by), draft, None, done)
        for id_, draft in by_id.items()
    ]
    added = await _reserve_slugs(context, tx, protected)
    displaced = [link for link in added if link.slug != by_id[link.id].row.slug]
    moved = list(filter(None, (decisions.keep_address(by_id[link.id], link.id, done) for link in displaced)))
    texts = {alias.link_id: aliases.to_search_text([alias.path]) for alias in moved}
    await batch.add_all(tx, context.account_id, added, texts)
    await pixels.attach_to_new(tx, {link.id: link.pixel_ids for link in added})
    await _save_routing(context, tx, [(link, by_id[link.id]) for link in added], {})
    done.counts.aliases += len(await insert_free(tx, moved, done))
    done.changes += (link.slug for link in added)
    return by_id


async def _reserve_slugs(context: Context, tx: Tx, new: Sequence[Link]) -> list[Link]:
    """Return the links, with generated slugs where theirs are taken."""
    taken = await batch.reserve_slugs(tx, [link for link in new if link.slug])
    displaced = [link for link in new if not link.slug or link.id in taken]
    generated = await batch.generate_slugs(tx, displaced, context.deps.reserved)
    return [link for link in new if link.slug and link.id not in taken] + generated


async def _change(context: Context, tx: Tx, changes: Sequence[Change], done: Page) -> dict[UUID, Draft]:
    """Set what has changed in the archive. Returns the drafts of the links that are still here, by id."""
    here = await link_store.lock_all(tx, context.account_id, [change.link_id for change in changes])
    stored = await routing.find_of_links(tx, list(here))
    changed = [change for change in changes if change.link_id in here]
    rerouted = []
    for link_id, draft, digest in changed:
        before = here[link_id]
        after = replace(before, **_changed_fields(before, draft)) if draft.is_changed_link(digest) else before
        if draft.is_changed_routing(digest):
            after = replace(after, starts_at=draft.link.starts_at, click_limit=draft.link.click_limit)
            rerouted.append((after, draft))
        after = link_rules.keep_disabled(before, _protected(after, draft, stored.get(link_id), done))
        if before.domain_id != after.domain_id:
            await domains.change_links_count(tx, before.domain_id, after.domain_id)
        await link_store.save(tx, before, replace(after, changed_by=context.by))
        done.changes.append(before.slug)
    await _save_routing(context, tx, rerouted, stored)
    return {change.link_id: change.draft for change in changed}


def _changed_fields(before: Link, draft: Draft) -> dict[str, Any]:
    """The slug stays, and an image that was uploaded."""
    kept = _KEPT | {"og_image"} if before.og_image_file_name else _KEPT
    return {name: getattr(draft.link, name) for name in Link.__dataclass_fields__ if name not in kept}


def _protected(link: Link, draft: Draft, here: LinkRouting | None, done: Page) -> Link:
    """Disable a link whose visitors would see what they must not. `here`: its routing."""
    reason = draft.routing.find_reason_to_disable(here)
    if reason is None:
        return link
    done.warn(reason, draft.row.slug)
    return replace(link, is_enabled=False)


async def _save_routing(
    context: Context, tx: Tx, changed: Sequence[tuple[Link, Draft]], here: Mapping[UUID, LinkRouting]
) -> None:
    now = context.deps.clock()
    merged = {link.id: merge(link, draft.routing, here.get(link.id), now) for link, draft in changed}
    await routing.add_many(tx, [each for each in merged.values() if each])
    await routing.delete_of_links(tx, [link_id for link_id, each in merged.items() if each is None and link_id in here])
