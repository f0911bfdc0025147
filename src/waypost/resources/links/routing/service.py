"""Get, replace and delete the routing of a link. Replacing and deleting lock the link."""

import asyncio
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from waypost import accounts, audit
from waypost.kit.errors import Problems
from waypost.kit.fair_queue import TimeBudget
from waypost.kit.fields import MAX_URL
from waypost.kit.urls import Url
from waypost.kit.versions import Version
from waypost.outbound import Unreachable
from waypost.resources.links import checks, health, routing, service, store
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


def _version_key(routed: RoutedLink) -> object:
    link, stored = routed
    names = ("rules", "variants", "fallback_url", "password_version", "updated_at")
    return link.starts_at, link.click_limit, [getattr(stored, name) for name in names] if stored else None


ROUTING_VERSION = Version(_version_key)


async def get(deps: Deps, caller: accounts.Caller, link_id: UUID) -> RoutedLink:
    """Raises NotFound."""
    async with deps.db.point_read() as tx:
        link = await store.get(tx, caller.account.id, link_id)
        return RoutedLink(link, await routing.find(tx, link_id))


async def save(
    deps: Deps, caller: accounts.Caller, link_id: UUID, fields: RoutingFields, problems: Problems
) -> RoutedLink:
    """Replace the routing of a link. Raises NotFound before Invalid. `problems`: those of the input."""
    account = caller.account.id
    current = await get(deps, caller, link_id)
    caller.require_current(current)
    parsed = parse_routing(fields, problems)
    urls = await _check_syntax(deps, account, parsed, problems)
    fetched = await _fetch_new(deps, account, current, urls, problems)
    hashed = await _hash(account, fields.password)
    async with deps.db.write() as tx:
        link = await store.lock(tx, account, link_id)
        before, now = await routing.find(tx, link_id), deps.clock()
        caller.require_current(RoutedLink(link, before))
        after = with_urls(LinkRouting(link_id, account, now, now, parsed.rules, parsed.variants), urls)
        after = _with_password(after, before, hashed, is_kept=fields.keeps_password)
        if before:
            unsafe = after.destinations.intersection(before.unsafe_urls) - fetched  # found since the checks above
            after = replace(after, unsafe_urls=sorted(unsafe), checked_at=before.checked_at)
        changed = replace(link, starts_at=fields.starts_at, click_limit=fields.click_limit)
        stored = None if is_plain(changed, after) else after
        changes = compare(RoutedLink(link, before), RoutedLink(changed, stored))
        if changes:
            changed = replace(changed, changed_by=caller.actor.label)
            item = service.item_of(link, deps)
            await audit.record(tx, caller.actor, "routing.updated", now, item, changes=changes)
        if stored:
            await routing.save(tx, stored)
        else:
            await routing.delete_of_links(tx, [link_id])
        await store.save(tx, [(link, changed)])
        if after.destinations != (before.destinations if before else set()):
            await health.reset(tx, [link_id], now)
        await deps.routes.changed(tx, [link.slug])
    return RoutedLink(changed, stored)


async def delete(deps: Deps, caller: accounts.Caller, link_id: UUID) -> None:
    """Raises NotFound."""
    async with deps.db.write() as tx:
        link = await store.lock(tx, caller.account.id, link_id)
        before, now = await routing.find(tx, link_id), deps.clock()
        caller.require_current(RoutedLink(link, before))
        plain = replace(link, starts_at=None, click_limit=None)
        if changes := compare(RoutedLink(link, before), RoutedLink(plain, None)):
            plain = replace(plain, changed_by=caller.actor.label)
            item = service.item_of(link, deps)
            await audit.record(tx, caller.actor, "routing.deleted", now, item, changes=changes)
        await routing.delete_of_links(tx, [link_id])
        await store.save(tx, [(link, plain)])
        if before and before.destinations:
            await health.reset(tx, [link_id], now)
        await deps.routes.changed(tx, [link.slug])


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


async def _check_syntax(deps: Deps, account: UUID, parsed: ParsedRouting, problems: Problems) -> Mapping[str, Url]:
    """Return the canonical URLs by field, after the checks that need no request. Raises Invalid."""
    urls = {}
    for field, text in parsed.urls:
        if url := await checks.check_destination(deps, account, text, problems, field):
            urls[field] = url
            if len(url.text) > MAX_URL:
                problems.add(field, TOO_LONG)
    problems.raise_if_any()
    return urls


async def _fetch_new(
    deps: Deps, account: UUID, current: RoutedLink, urls: Mapping[str, Url], problems: Problems
) -> AbstractSet[str]:
    """Fetch the destinations that the link did not have before, and return them. Raises Invalid."""
    known = {current.link.destination_url}
    if current.routing:
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


def with_urls(after: LinkRouting, urls: Mapping[str, Url]) -> LinkRouting:
    """Set the canonical URLs."""
    return replace(
        after,
        rules=[
            {**rule, "destination_url": urls[f"rules.{index}.destination_url"].text}
            for index, rule in enumerate(after.rules)
        ],
        variants=[
            {**variant, "destination_url": urls[f"variants.{index}.destination_url"].text}
            for index, variant in enumerate(after.variants)
        ],
        fallback_url=urls["fallback_url"].text if "fallback_url" in urls else None,
    )


def _with_password(after: LinkRouting, before: LinkRouting | None, hashed: str | None, *, is_kept: bool) -> LinkRouting:
    if is_kept and before:
        return replace(after, password_hash=before.password_hash, password_version=before.password_version)
    return after if hashed is None else after.with_password(hashed, before)


def is_plain(link: Link, stored: LinkRouting) -> bool:
    return not (link.starts_at or link.click_limit or stored.password_hash or stored.destinations)
