"""Saves what was decided about the links of a page."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from waypost.database import Tx
from waypost.kit.errors import NotFound
from waypost.resources import domains
from waypost.resources.imports import rules, store
from waypost.resources.imports.decisions import Change, Decision
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.routing.importing import FIELDS as ROUTING_FIELDS
from waypost.resources.imports.routing.importing import RoutingImport, Saved
from waypost.resources.links import Link, aliases
from waypost.resources.links import rules as link_rules
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.bulk import batch


class Outdated(Exception):
    """A slug or an alias was taken, or a link was changed, after the decision: decide again."""


async def save(tx: Tx, deps: Deps, import_: Import, decision: Decision, routing: RoutingImport) -> None:
    """Raises Outdated."""
    account_id = import_.account_id
    changes = await _add(tx, deps, import_, decision)
    await _add_aliases(tx, decision.aliases)
    changes += {alias.hostname for alias in decision.aliases}
    saved = [Saved(draft.link, draft, rules.FIELDS) for draft in decision.new]
    for change in decision.changed:
        before, after = await _change(tx, account_id, change, routing)
        if after != before or ROUTING_FIELDS & {*change.names}:
            await link_store.save(tx, before, replace(after, updated_at=deps.clock(), changed_by=import_.started_by))
            changes.append(after.slug)
        saved.append(Saved(after, change.draft, change.names))
    with_aliases = {alias.link_id for alias in decision.aliases}
    changed = (each.link for each in saved[len(decision.new) :])
    await link_store.save_search_texts(tx, [link for link in changed if link.id in with_aliases])
    await store.save_links(tx, account_id, {each.draft.key: (each.link.id, each.draft.digest) for each in saved})
    await store.add_checks(tx, import_, [each.link.id for each in saved])
    await store.keep_checks(tx, import_, decision.unchanged)
    await _save_imported_clicks(tx, account_id, saved)
    await routing.save(tx, saved)
    await deps.routes.changed(tx, changes)


async def _add(tx: Tx, deps: Deps, import_: Import, decision: Decision) -> list[str]:
    """Return the slugs."""
    named = [draft.link for draft in decision.new if draft.link.slug]
    if await batch.reserve_slugs(tx, named):
        raise Outdated
    unnamed = [draft.link for draft in decision.new if not draft.link.slug]
    added = [*named, *await batch.generate_slugs(tx, unnamed, deps.reserved)]
    added = [replace(link, created_by=import_.started_by) for link in added]
    await batch.add_all(tx, import_.account_id, added, _search_texts(decision.aliases))
    return [link.slug for link in added]


async def _add_aliases(tx: Tx, new: Sequence[Alias]) -> None:
    await aliases.add_many(tx, new)
    link_of = await aliases.find_links(tx, [(alias.domain_id, alias.path) for alias in new])
    if any(link_of.get((alias.domain_id, alias.path)) != alias.link_id for alias in new):
        raise Outdated


def _search_texts(new: Sequence[Alias]) -> dict[UUID, str]:
    paths: dict[UUID, list[str]] = {}
    for alias in new:
        paths.setdefault(alias.link_id, []).append(alias.path)
    return {link_id: aliases.to_search_text(of_link) for link_id, of_link in paths.items()}


async def _change(tx: Tx, account_id: UUID, change: Change, routing: RoutingImport) -> tuple[Link, Link]:
    """Return the link before and after."""
    try:
        before = await link_store.lock(tx, account_id, change.before.id)
    except NotFound:
        raise Outdated from None
    if (before.domain_id, before.slug) != (change.before.domain_id, change.before.slug):
        raise Outdated
    after = rules.apply_changes(before, change.draft.link, change.names)
    after = await routing.change(tx, after, change.draft, change.names)
    after = link_rules.keep_disabled(before, after)
    if before.domain_id != after.domain_id:
        await domains.change_links_count(tx, before.domain_id, after.domain_id)
    return before, after


async def _save_imported_clicks(tx: Tx, account_id: UUID, saved: Sequence[Saved]) -> None:
    clicks = {
        each.link.id: each.draft.source.clicks or 0
        for each in saved
        if "clicks" in each.names and (each.draft.source.clicks or len(each.names) < len(rules.FIELDS))
    }
    await batch.set_imported_clicks(tx, account_id, clicks)
