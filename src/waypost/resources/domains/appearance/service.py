"""Changes the appearance of a domain's pages."""

from uuid import UUID

from waypost import audit
from waypost.accounts import Caller
from waypost.audit import Item
from waypost.kit.errors import Problems
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.appearance.model import DomainAppearance
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange
from waypost.resources.domains.appearance.store import APPEARANCES
from waypost.resources.domains.deps import WebDeps


async def change(
    deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainAppearanceChange, problems: Problems
) -> DomainAppearance:
    """Change the fields that were sent. Raises NotFound before Invalid."""
    async with deps.db.write() as tx:
        domain = await domain_store.get_for_update(tx, caller.account.id, domain_id)
        problems.raise_if_any()
        before = await APPEARANCES.find(tx, domain_id)
        caller.require_current(before)
        after = change.apply_to(before)
        if after == before:
            return before
        after = after._replace(updated_at=deps.clock())
        await APPEARANCES.save(tx, domain_id, after)
        changes = audit.compare(before._asdict(), after._asdict(), ignored=["updated_at"])
        item = Item(domain.id, domain.hostname)
        await audit.record(tx, caller.actor, "domain_appearance.updated", deps.clock(), item, changes=changes)
        await deps.routes.host_changed(tx, domain.hostname)  # the pages about its links, too
    return after
