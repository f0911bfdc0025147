"""Checks and writes the routing that a request asks for, alone or together with a change of its link."""

import asyncio
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from waypost import accounts, audit
from waypost.database import Tx
from waypost.kit.errors import Problems
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.fields import MAX_URL
from waypost.kit.urls import Url
from waypost.outbound import Unreachable
from waypost.resources.links import checks, health, routing, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.routing.schemas import ParsedRouting, RoutingFields, parse_routing

DEADLINE = 30.0
"""Seconds for fetching all destinations. Those that are not fetched by then count as unreachable."""

TOO_LONG = f"This must have at most {MAX_URL:,} characters as browsers write it."


class RoutedLink(NamedTuple):
    link: Link
    """Has start and click limit."""
    routing: LinkRouting | None

    @property
    def has_password(self) -> bool:
        return self.routing is not None and self.routing.password_hash is not None


class RoutingDraft(NamedTuple):
    """What a request sends, and what checks found out about it."""

    fields: RoutingFields
    parsed: ParsedRouting
    urls: Mapping[str, Url]
    """In canonical form, by field."""
    fetched: AbstractSet[str] = frozenset()
    password_hash: str | None = None

    @property
    def destinations(self) -> Mapping[str, Any]:
        """The fields of a routing with destinations, in canonical form."""
        lists = {"rules": self.parsed.rules, "variants": self.parsed.variants}
        fallback = self.urls.get("fallback_url")
        return {"fallback_url": fallback.text if fallback else None} | {
            name: [
                {**entry, "destination_url": self.urls[f"{name}.{index}.destination_url"].text}
                for index, entry in enumerate(entries)
            ]
            for name, entries in lists.items()
        }


async def check_syntax(deps: Deps, account: UUID, fields: RoutingFields, problems: Problems) -> RoutingDraft:
    """Make the checks that need no request."""
    parsed, urls = parse_routing(fields, problems), {}
    for field, text in parsed.urls:
        if url := await checks.check_destination(deps, account, text, problems, field):
            urls[field] = url
            if len(url.text) > MAX_URL:
                problems.add(field, TOO_LONG)
    return RoutingDraft(fields, parsed, urls)


async def fetch(
    deps: Deps, account: UUID, current: RoutedLink | None, draft: RoutingDraft, problems: Problems
) -> RoutingDraft:
    """Make the other checks. Raises Invalid for problems found before or now, and Unavailable.

    `current`: the link before, whose destinations are not fetched again; None: a new link.
    """
    problems.raise_if_any()
    fetched = await _fetch_new(deps, account, current, draft.urls, problems)
    return draft._replace(fetched=fetched, password_hash=await _hash(account, draft.fields.password))


async def apply(deps: Deps, tx: Tx, caller: accounts.Caller, routed: RoutedLink, draft: RoutingDraft) -> RoutedLink:
    """Write the routing of a link that the transaction has locked, its route change and the entry of the audit log."""
    link, before = routed
    if not draft.fields.replaced:
        return routed
    now = deps.clock()
    changed, after = _plan(routed, draft, now)
    stored = None if _is_plain(changed, after) else after
    if changes := compare(routed, RoutedLink(changed, stored)):
        changed = replace(changed, changed_by=caller.actor.label)
        item = audit.Item(link.id, link.short_url(deps.shared_domain))
        await audit.record(tx, caller.actor, "routing.updated", now, item, changes=changes)
    if stored:
        await routing.save(tx, stored)
    else:
        await routing.delete_of_links(tx, [link.id])
    await store.save(tx, [(link, changed)])
    if after.destinations != (before.destinations if before else set()):
        await health.reset(tx, [link.id], now)
    await deps.routes.changed(tx, [link.slug])
    return RoutedLink(changed, stored)


def _plan(routed: RoutedLink, draft: RoutingDraft, now: datetime) -> tuple[Link, LinkRouting]:
    """Return what becomes of the link and of its routing. Fields that the request does not replace stay."""
    link, before = routed
    names = draft.fields.replaced
    after = replace(before, updated_at=now) if before else LinkRouting(link.id, link.account_id, now, now)
    after = replace(after, **{name: value for name, value in draft.destinations.items() if name in names})
    if "password" in names:
        hashed, after = draft.password_hash, replace(after, password_hash=None, password_version=None)
        after = after.with_password(hashed, before) if hashed else after
    unsafe = after.destinations.intersection(after.unsafe_urls) - draft.fetched  # found since the checks
    of_link = {name: getattr(draft.fields, name) for name in ("starts_at", "click_limit") if name in names}
    return replace(link, **of_link), replace(after, unsafe_urls=sorted(unsafe))


def compare(before: RoutedLink, after: RoutedLink) -> audit.Changes:
    """For the audit log: rules and variants are too long for it, and a password must not be there."""
    old, new = (
        {
            "starts_at": link.starts_at,
            "click_limit": link.click_limit,
            "fallback_url": stored.fallback_url if stored else None,
        }
        for link, stored in (before, after)
    )
    hidden = [
        name.removesuffix("_hash")
        for name in ("rules", "variants", "password_hash")
        if (getattr(before.routing, name, None) or None) != (getattr(after.routing, name, None) or None)
    ]
    return audit.compare(old, new) | audit.compare_secrets(hidden)


async def _fetch_new(
    deps: Deps, account: UUID, current: RoutedLink | None, urls: Mapping[str, Url], problems: Problems
) -> AbstractSet[str]:
    """Fetch the destinations that the link did not have before, and return them. Raises Invalid."""
    known = {current.link.destination_url} if current else set()
    if current and current.routing:
        known |= current.routing.destinations.difference(current.routing.unsafe_urls)
    new = {url.text: url for url in urls.values() if url.text not in known}
    found = await _fetch_all(deps, account, new.values())
    for field, url in urls.items():
        for message in found.errors.get(url.text, ()):
            problems.add(field, message)
        if reason := found.reasons.get(url.text):
            problems.reasons[field] = reason
    problems.raise_if_any()
    return new.keys()


async def _fetch_all(deps: Deps, account: UUID, urls: Collection[Url]) -> Problems:
    """Fetch destinations, a few at a time, and return the problems by URL. Raises Unavailable."""
    found = Problems()
    tasks = {
        asyncio.create_task(
            checks.fetch_destination(deps, account, url, found, url.text, wait=TimeBudget(DEADLINE))
        ): url
        for url in urls
    }
    if not tasks:
        return found
    try:
        done, unfinished = await asyncio.wait(tasks, timeout=DEADLINE, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        for task in unfinished:
            url = tasks[task]
            checks.add_unreachable(deps, url, Unreachable("timed out"), found, url.text)
        return found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hash(account: UUID, password: str | None) -> str | None:
    """Raises Unavailable if too many passwords are waiting."""
    if password is None:
        return None
    return await accounts.hash_password(password, accounts.SignInClient(account.bytes, is_known=True))


def _is_plain(link: Link, stored: LinkRouting) -> bool:
    return not (link.starts_at or link.click_limit or stored.password_hash or stored.destinations)
