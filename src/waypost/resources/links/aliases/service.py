"""Lists, adds and deletes the aliases of a link. Adding and deleting lock the link."""

from uuid import UUID

from waypost import accounts, audit
from waypost.kit.errors import Invalid, Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest
from waypost.redirect import alias_change, near_change
from waypost.resources import domains
from waypost.resources.links import aliases, rules, service, store
from waypost.resources.links.aliases import Alias
from waypost.resources.links.aliases.schemas import NewAlias
from waypost.resources.links.deps import Deps

ON_SHARED_DOMAIN = "Aliases need a domain of your own. On the shared domain, choose the link's slug."


async def list_aliases(deps: Deps, caller: accounts.Caller, link_id: UUID, request: PageRequest) -> Page[Alias]:
    """Return a page, newest first. Raises NotFound."""
    async with deps.db.read() as tx:
        await store.require_exists(tx, caller.account.id, link_id)
        items, total = await aliases.list_page(tx, link_id, request)
    return Page(items, total, request)


async def add(deps: Deps, caller: accounts.Caller, link_id: UUID, new: NewAlias, problems: Problems) -> Alias:
    """Add an alias. Raises NotFound before Invalid. `problems`: those of the input."""
    account = caller.account.id
    new.check_required(problems)
    if new.hostname == deps.shared_domain:
        problems.add("hostname", ON_SHARED_DOMAIN)
    async with caller.commit(deps.db) as tx:
        link = await store.lock(tx, account, link_id)
        domain = await domains.lock_id(tx, account, new.hostname) if new.hostname else None
        if domain is None and "hostname" not in problems:
            problems.add("hostname", rules.NO_SUCH_DOMAIN)
        if await aliases.count(tx, link_id) >= aliases.MAX_ALIASES:
            problems.add("path", aliases.TOO_MANY)
        if problems or domain is None or new.hostname is None or new.path is None:
            raise Invalid(problems.errors)
        alias = Alias(new_id(), account, link_id, domain, new.hostname, new.path, deps.clock())
        if not await aliases.add_many(tx, [alias]):
            raise Invalid({"path": [aliases.PATH_TAKEN]})
        await store.save_search_texts(tx, [link])
        await deps.routes.changed(tx, sorted(aliases.route_changes([alias])))
        item, details = service.item_of(link, deps), _details(alias)
        await audit.record(tx, caller.actor, "alias.created", alias.created_at, item, details=details)
    return alias


async def get(deps: Deps, caller: accounts.Caller, link_id: UUID, alias_id: UUID) -> Alias:
    """Raises NotFound."""
    async with deps.db.read() as tx:
        await store.require_exists(tx, caller.account.id, link_id)
        return await aliases.get(tx, link_id, alias_id)


async def delete(deps: Deps, caller: accounts.Caller, link_id: UUID, alias_id: UUID) -> None:
    """Raises NotFound."""
    async with deps.db.write() as tx:
        link = await store.lock(tx, caller.account.id, link_id)
        alias = await aliases.get(tx, link_id, alias_id)
        await aliases.delete(tx, [alias_id])
        await store.save_search_texts(tx, [link])
        now, item = deps.clock(), service.item_of(link, deps)
        await deps.routes.changed(tx, [alias_change(alias.hostname, alias.path), near_change(alias.path)])
        await audit.record(tx, caller.actor, "alias.deleted", now, item, details=_details(alias))


def _details(alias: Alias) -> dict[str, str]:
    return {"alias": audit.plain(f"{alias.hostname}/{alias.path}")}
