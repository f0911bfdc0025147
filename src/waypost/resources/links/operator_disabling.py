"""Links that the operator disabled: their owners cannot enable them again, or use their slugs for other links."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, insert, update

from waypost import audit
from waypost.accounts.suspension import check_reason
from waypost.audit import Actor
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Problems, or_not_found
from waypost.resources.links import service, store
from waypost.resources.links.apply import apply
from waypost.resources.links.model import Link, disabled_links, slugs
from waypost.resources.links.rules import LinkPlan


async def disable(context: Context, link_id: UUID, reason: str) -> Link:
    """Disable the link, or change the reason. Raises NotFound and Invalid."""
    reason, now = check_reason(reason), context.clock()
    async with context.db.write() as tx:
        link = await _lock(tx, link_id)
        if link.disabled_reason == reason:
            return link
        if link.disabled_reason is None:
            row = {"link_id": link_id, "slug": link.slug, "reason": reason, "was_enabled": link.is_enabled}
            await tx.execute(insert(disabled_links), {**row, "disabled_at": now})
        else:
            change = update(disabled_links).where(disabled_links.c.link_id == link_id)
            await tx.execute(change.values(reason=reason))
        await _save(context, tx, link, now, is_enabled=False)
        item = service.item_of(link, context)
        actor, details = Actor.operator(link.account_id), {"reason": reason}
        await audit.record(tx, actor, "link.disabled_by_operator", now, item, details=details)
    return link


async def lift(context: Context, link_id: UUID) -> Link:
    """Let the owner enable the link again. It is enabled if it was before. Raises NotFound."""
    now = context.clock()
    async with context.db.write() as tx:
        link = await _lock(tx, link_id)
        query = delete(disabled_links).where(disabled_links.c.link_id == link_id)
        row = or_not_found((await tx.execute(query.returning(*disabled_links.c))).one_or_none())
        if row.slug != link.slug:
            await tx.execute(update(slugs).where(slugs.c.slug == row.slug).values(link_id=None))
        await _save(context, tx, link, now, is_enabled=row.was_enabled)
        item = service.item_of(link, context)
        await audit.record(tx, Actor.operator(link.account_id), "link.enabled_by_operator", now, item)
    return link


async def _lock(tx: Tx, link_id: UUID) -> Link:
    """Raises NotFound."""
    return or_not_found(next(iter(await store.lock_any(tx, [link_id])), None))


async def _save(context: Context, tx: Tx, link: Link, now: datetime, *, is_enabled: bool) -> None:
    by = Actor.operator(link.account_id).label
    plan = LinkPlan(link, replace(link, is_enabled=is_enabled, updated_at=now, changed_by=by))
    await apply(context, tx, link.account_id, [plan], Problems())
