"""Get, replace and delete the routing of a link. Replacing and deleting lock the link."""

from dataclasses import replace
from uuid import UUID

from waypost import accounts, audit
from waypost.kit.errors import Problems
from waypost.kit.versions import Version
from waypost.resources.links import health, routing, service, store
from waypost.resources.links.deps import Deps
from waypost.resources.links.routing import change
from waypost.resources.links.routing.change import RoutedLink, compare
from waypost.resources.links.routing.schemas import RoutingFields


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
    draft = await change.check_syntax(deps, account, fields, problems)
    draft = await change.fetch(deps, account, current, draft, problems)
    async with deps.db.write() as tx:
        locked = RoutedLink(await store.lock(tx, account, link_id), await routing.find(tx, link_id))
        caller.require_current(locked)
        return await change.apply(deps, tx, caller, locked, draft)


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
