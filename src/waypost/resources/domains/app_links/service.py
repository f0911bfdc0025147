"""Replaces the app links of a domain."""

from uuid import UUID

from waypost import audit
from waypost.accounts import Caller
from waypost.audit import Item
from waypost.kit.errors import Problems
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.app_links import store
from waypost.resources.domains.app_links.documents import to_texts
from waypost.resources.domains.app_links.model import AppLinksTexts
from waypost.resources.domains.app_links.schemas import AppLinksFields
from waypost.resources.domains.deps import WebDeps


async def save(
    deps: WebDeps, caller: Caller, domain_id: UUID, new: AppLinksFields, problems: Problems
) -> AppLinksTexts:
    """Replace both documents. Raises NotFound before it checks them, then Invalid."""
    async with deps.db.read() as tx:
        await domain_store.get(tx, caller.account.id, domain_id)
    texts = to_texts(new.apple_app_site_association, new.assetlinks, problems)
    problems.raise_if_any()
    async with deps.db.write() as tx:
        domain = await domain_store.get_for_update(tx, caller.account.id, domain_id)
        before = await store.APP_LINKS.find(tx, domain_id)
        caller.require_current(before)
        if before == texts:
            return texts
        await store.save(tx, domain_id, texts)
        changed = audit.compare_secrets(audit.compare(before._asdict(), texts._asdict()))  # the documents are too long
        item = Item(domain.id, domain.hostname)
        await audit.record(tx, caller.actor, "app_links.updated", deps.clock(), item, changes=changed)
        await deps.routes.host_pages_changed(tx, domain.hostname)
    return texts
