"""Saves what was decided about the links of a page. Like other fields, routing changes only if it has at the source."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from waypost import accounts
from waypost.database import Tx
from waypost.kit.clock import EPOCH
from waypost.kit.errors import Invalid, Problems
from waypost.resources import links
from waypost.resources.imports import rules, store
from waypost.resources.imports.decisions import ChangedDraft, Decision
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.page_plan import Outdated
from waypost.resources.imports.rules import Draft
from waypost.resources.links import Link, aliases, click_counters, routing
from waypost.resources.links import rules as link_rules
from waypost.resources.links import store as link_store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.apply import apply
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.rules import LinkPlan

_ROUTING_FIELDS = frozenset({"routing", "click_limit"})
"""Of `rules.FIELDS`."""


class _Saved(NamedTuple):
    """A link that has been added or changed."""

    link: Link
    draft: Draft
    names: Collection[str]
    """Those of `rules.FIELDS` that changed at the source; `rules.FIELDS` itself for a new link."""


@dataclass(frozen=True, slots=True)
class Saving:
    deps: Deps
    import_: Import
    decision: Decision
    has_rows: bool
    """The clicks of links are imported with their times."""
    hashes: dict[UUID, str] = field(default_factory=dict)
    """Of passwords, by key of the draft."""

    async def hash_passwords(self) -> None:
        """Call this before `save`: each takes some milliseconds of a processor."""
        client = accounts.SignInClient(self.import_.account_id.bytes, is_known=True)
        routed = [change.draft for change in self.decision.changed if "routing" in change.names]
        for draft in (*self.decision.new, *routed):
            if draft.fitted.password:
                self.hashes[draft.key] = await accounts.hash_password(draft.fitted.password, client)

    async def save(self, tx: Tx) -> None:
        """Raises Outdated."""
        import_, decision, account_id = self.import_, self.decision, self.import_.account_id
        added = defaultdict[UUID, list[Alias]](list)
        for alias in decision.aliases:
            added[alias.link_id].append(alias)
        plans = [
            link_rules.plan(None, draft.link, by=import_.started_by, at=draft.link.updated_at) for draft in decision.new
        ]
        here = await link_store.lock_all(tx, account_id, [change.before.id for change in decision.changed])
        plans += [await self._plan(tx, here, change) for change in decision.changed]
        plans = [plan._replace(aliases=added[plan.after.id]) for plan in plans]
        if (await aliases.split_by_limit(tx, decision.aliases))[1]:
            raise Outdated
        try:
            applied = await apply(self.deps, tx, account_id, plans, Problems())
        except Invalid:
            raise Outdated from None
        await _check_aliases(tx, decision.aliases)
        sources: list[tuple[Draft, Collection[str]]] = [(draft, rules.FIELDS) for draft in decision.new]
        sources += [(change.draft, change.names) for change in decision.changed]
        saved = [_Saved(link, *source) for link, source in zip(applied, sources, strict=True)]
        await store.save_links(tx, account_id, {each.draft.key: (each.link.id, each.draft.digest) for each in saved})
        await store.add_checks(tx, import_, [each.link.id for each in saved if not each.draft.source.archived])
        await store.keep_checks(tx, import_, decision.unchanged)
        await _save_imported_clicks(tx, account_id, saved)
        await self._save_routing(tx, saved)

    async def _plan(self, tx: Tx, here: Mapping[UUID, Link], change: ChangedDraft) -> LinkPlan:
        """`here`: locked."""
        before, by = here.get(change.before.id), self.import_.started_by
        if before is None or (before.domain_id, before.slug) != (change.before.domain_id, change.before.slug):
            raise Outdated
        names, fitted = change.names, change.draft.fitted
        requested = rules.apply_changes(before, change.draft.link, names)
        if "routing" in names:
            requested = replace(requested, starts_at=fitted.starts_at)
        if "click_limit" in names:
            limit = fitted.click_limit
            counted = 0 if self.has_rows or limit is None else await links.find_clicks(tx, before.id)
            requested = replace(requested, click_limit=None if limit is None else limit + counted)
        at = change.draft.link.updated_at
        is_rerouted = not _ROUTING_FIELDS.isdisjoint(names)
        if is_rerouted:
            requested = replace(requested, updated_at=at)
        return link_rules.plan(before, requested, by=by, at=at)._replace(is_rerouted=is_rerouted)

    async def _save_routing(self, tx: Tx, saved: Sequence[_Saved]) -> None:
        """The links are stored and locked."""
        routed = [each for each in saved if not (_ROUTING_FIELDS.isdisjoint(each.names) or _is_new_and_plain(each))]
        before = await routing.find_of_links(tx, [each.link.id for each in routed])
        stored = {each.link.id: self._routing_of(each, before.get(each.link.id)) for each in routed}
        await routing.add_many(tx, [each for each in stored.values() if each])
        await routing.delete_of_links(tx, [id_ for id_, each in stored.items() if not each])

    def _routing_of(self, saved: _Saved, before: LinkRouting | None) -> LinkRouting | None:
        """Return None for a link without any."""
        link, fitted, now = saved.link, saved.draft.fitted, self.deps.clock()
        after = replace(before, updated_at=now) if before else LinkRouting(link.id, self.import_.account_id, now, EPOCH)
        if "routing" in saved.names:
            # checked_at: the next check for unsafe URLs includes them
            at = fitted.updated_at or now
            after = LinkRouting(
                link.id, self.import_.account_id, at, EPOCH, fitted.rules, fitted.variants, fitted.fallback_url
            )
            if before:
                after = replace(after, unsafe_urls=sorted(after.destinations.intersection(before.unsafe_urls)))
            if fitted.password:
                after = after.with_password(self.hashes[saved.draft.key], before)
            elif before and (fitted.lacks_password or saved.draft.source.archived):  # one that was set here
                after = replace(after, password_hash=before.password_hash, password_version=before.password_version)
        return after if after.destinations or after.password_hash or link.starts_at or link.click_limit else None


def _is_new_and_plain(saved: _Saved) -> bool:
    return saved.names is rules.FIELDS and saved.draft.fitted.is_plain


async def _check_aliases(tx: Tx, new: Sequence[Alias]) -> None:
    link_of = await aliases.find_links(tx, [(alias.domain_id, alias.path) for alias in new])
    if any(link_of.get((alias.domain_id, alias.path)) != alias.link_id for alias in new):
        raise Outdated


async def _save_imported_clicks(tx: Tx, account_id: UUID, saved: Sequence[_Saved]) -> None:
    clicks = {
        each.link.id: each.draft.source.clicks or 0
        for each in saved
        if "clicks" in each.names and (each.draft.source.clicks or len(each.names) < len(rules.FIELDS))
    }
    await click_counters.set_imported_clicks(tx, account_id, clicks)
