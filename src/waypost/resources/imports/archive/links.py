"""Stores the links of an archive, in the transaction of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.imports import store
from waypost.resources.imports.archive import drafts as decisions
from waypost.resources.imports.archive.aliases import find_free
from waypost.resources.imports.archive.context import Context
from waypost.resources.imports.archive.drafts import Change, Draft
from waypost.resources.imports.archive.routing import merge
from waypost.resources.imports.run import Page
from waypost.resources.links import Link, click_counters, routing
from waypost.resources.links import rules as link_rules
from waypost.resources.links import store as link_store
from waypost.resources.links.apply import apply
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.rules import LinkPlan

_KEPT = {
    *("id", "account_id", "slug", "clicks", "og_image_file_name", "og_image_bytes", "created_at", "created_by"),
    *("starts_at", "click_limit"),  # they belong to the routing
    "disabled_reason",
}
"""Fields of a link that a changed row does not change."""


class _Planned(NamedTuple):
    plan: LinkPlan
    draft: Draft
    before: str
    """The digest of the last import. Empty for a new link."""


async def save(context: Context, tx: Tx, drafts: Sequence[Draft], done: Page) -> None:
    """Add what is not here, and change what has changed in the archive."""
    new, changed, unchanged = await decisions.decide(context, tx, drafts)
    stored = await routing.find_of_links(tx, [change.link_id for change in changed])
    added, updated = await _plan_new(context, tx, new, done), await _plan_changes(context, tx, changed, stored, done)
    planned = [*added, *updated]
    applied = await apply(context.deps, tx, context.account_id, [each.plan for each in planned], Problems())
    done.counts.created, done.counts.updated = len(added), len(updated)
    done.counts.unchanged = unchanged + len(changed) - len(updated)
    saved = {link.id: each for link, each in zip(applied, planned, strict=True)}
    pairs = zip(applied, planned, strict=True)
    rerouted = [(link, draft) for link, (_, draft, before) in pairs if draft.is_changed_routing(before)]
    await _save_routing(context, tx, rerouted, stored)
    keys = {context.key_of(each.draft.row.id): (link_id, each.draft.digest) for link_id, each in saved.items()}
    await store.save_links(tx, context.account_id, keys)
    counts = {link_id: count for link_id, each in saved.items() if (count := each.draft.row.imported_clicks)}
    await click_counters.set_imported_clicks(tx, context.account_id, counts)
    done.counts.imported_clicks = sum(counts.values())


async def _plan_new(context: Context, tx: Tx, new: Sequence[Draft], done: Page) -> list[_Planned]:
    in_use = await links.find_accounts(tx, [draft.link.id for draft in new])
    by_id = {new_id() if draft.link.id in in_use else draft.link.id: draft for draft in new}
    requested = [_protected(replace(draft.link, id=id_), draft, None, done) for id_, draft in by_id.items()]
    taken = await link_store.reserve_slugs(tx, [link for link in requested if link.slug])
    requested = [replace(link, slug="") if link.id in taken else link for link in requested]
    moved = (decisions.keep_address(by_id[link.id], link.id, done) for link in requested if not link.slug)
    free = {alias.link_id: [alias] for alias in await find_free(tx, list(filter(None, moved)), done)}
    done.counts.aliases += len(free)
    plans = (link_rules.plan(None, link, by=context.by, at=link.updated_at) for link in requested)
    return [_Planned(plan._replace(aliases=free.get(plan.after.id, ())), by_id[plan.after.id], "") for plan in plans]


async def _plan_changes(
    context: Context, tx: Tx, changes: Sequence[Change], stored: Mapping[UUID, LinkRouting], done: Page
) -> list[_Planned]:
    """Set what has changed in the archive, of the links that are still here."""
    here = await link_store.lock_all(tx, context.account_id, [change.link_id for change in changes])
    planned = []
    for link_id, draft, digest in changes:
        if before := here.get(link_id):
            requested = replace(before, **_changed_fields(before, draft)) if draft.is_changed_link(digest) else before
            if draft.is_changed_routing(digest):
                requested = replace(requested, starts_at=draft.link.starts_at, click_limit=draft.link.click_limit)
            requested = _protected(requested, draft, stored.get(link_id), done)
            plan = link_rules.plan(before, requested, by=context.by, at=requested.updated_at)
            plan = plan._replace(is_rerouted=draft.is_changed_routing(digest))
            planned.append(_Planned(plan, draft, digest))
    return planned


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
