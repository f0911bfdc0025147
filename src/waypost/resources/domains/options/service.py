"""Changes the options of a domain."""

from uuid import UUID

from waypost import audit
from waypost.accounts import Caller
from waypost.audit import Item
from waypost.kit.errors import Problems
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.options.model import DomainOptions
from waypost.resources.domains.options.schemas import DomainOptionsChange
from waypost.resources.domains.options.store import OPTIONS


async def change(
    deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainOptionsChange, problems: Problems
) -> DomainOptions:
    """Change the options that were sent. Raises NotFound before Invalid."""
    async with deps.db.write() as tx:
        domain = await domain_store.get_for_update(tx, caller.account.id, domain_id)
        problems.raise_if_any()
        before = await OPTIONS.find(tx, domain_id)
        caller.require_current(before)
        after = change.apply_to(before)
        if after == before:
            return before
        after = after._replace(updated_at=deps.clock())
        await OPTIONS.save(tx, domain_id, after)
        changes = audit.compare(before._asdict(), after._asdict(), ignored=["updated_at"])
        item = Item(domain.id, domain.hostname)
        await audit.record(tx, caller.actor, "domain_options.updated", deps.clock(), item, changes=changes)
        is_of_links = (before.forward_query, before.forward_path) != (after.forward_query, after.forward_path)
        publish = deps.routes.host_changed if is_of_links else deps.routes.host_pages_changed
        await publish(tx, domain.hostname)
    return after
