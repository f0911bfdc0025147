"""Saves what was decided about the links of a page."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from waypost.database import Tx
from waypost.kit.errors import Invalid, Problems
from waypost.resources.imports import rules, store
from waypost.resources.imports.decisions import ChangedDraft, Decision
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import Outdated
from waypost.resources.imports.routing.importing import FIELDS as ROUTING_FIELDS
from waypost.resources.imports.routing.importing import RoutingImport, Saved
from waypost.resources.imports.rules import Draft
from waypost.resources.links import Link, aliases, click_counters
from waypost.resources.links import rules as link_rules
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.apply import apply
from waypost.resources.links.rules import LinkPlan


async def save(tx: Tx, deps: Deps, import_: Import, decision: Decision, routing: RoutingImport) -> None:
    """Raises Outdated."""
    account_id = import_.account_id
    added = defaultdict[UUID, list[Alias]](list)
    for alias in decision.aliases:
        added[alias.link_id].append(alias)
    plans = [
        link_rules.plan(None, draft.link, by=import_.started_by, at=draft.link.updated_at) for draft in decision.new
    ]
    here = await link_store.lock_all(tx, account_id, [change.before.id for change in decision.changed])
    plans += [await _plan(tx, here, import_, change, routing) for change in decision.changed]
    plans = [plan._replace(aliases=added[plan.after.id]) for plan in plans]
    try:
        links = await apply(deps, tx, account_id, plans, Problems())
    except Invalid:
        raise Outdated from None
    await _check_aliases(tx, decision.aliases)
    sources: list[tuple[Draft, Collection[str]]] = [(draft, rules.FIELDS) for draft in decision.new]
    sources += [(change.draft, change.names) for change in decision.changed]
    saved = [Saved(link, *source) for link, source in zip(links, sources, strict=True)]
    await store.save_links(tx, account_id, {each.draft.key: (each.link.id, each.draft.digest) for each in saved})
    await store.add_checks(tx, import_, [each.link.id for each in saved if not each.draft.source.archived])
    await store.keep_checks(tx, import_, decision.unchanged)
    await _save_imported_clicks(tx, account_id, saved)
    await routing.save(tx, saved)


async def _plan(
    tx: Tx, here: Mapping[UUID, Link], import_: Import, change: ChangedDraft, routing: RoutingImport
) -> LinkPlan:
    """`here`: locked."""
    before = here.get(change.before.id)
    if before is None or (before.domain_id, before.slug) != (change.before.domain_id, change.before.slug):
        raise Outdated
    requested = rules.apply_changes(before, change.draft.link, change.names)
    requested = await routing.change(tx, requested, change.draft, change.names)
    at = change.draft.link.updated_at
    is_rerouted = not ROUTING_FIELDS.isdisjoint(change.names)
    if is_rerouted:
        requested = replace(requested, updated_at=at)
    return link_rules.plan(before, requested, by=import_.started_by, at=at)._replace(is_rerouted=is_rerouted)


async def _check_aliases(tx: Tx, new: Sequence[Alias]) -> None:
    link_of = await aliases.find_links(tx, [(alias.domain_id, alias.path) for alias in new])
    if any(link_of.get((alias.domain_id, alias.path)) != alias.link_id for alias in new):
        raise Outdated


async def _save_imported_clicks(tx: Tx, account_id: UUID, saved: Sequence[Saved]) -> None:
    clicks = {
        each.link.id: each.draft.source.clicks or 0
        for each in saved
        if "clicks" in each.names and (each.draft.source.clicks or len(each.names) < len(rules.FIELDS))
    }
    await click_counters.set_imported_clicks(tx, account_id, clicks)
