"""Suspends and resumes accounts. Both are one transaction, whatever the account has."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal
from uuid import UUID

import structlog

from waypost import accounts, audit
from waypost.accounts import suspension
from waypost.audit import Actor, Item
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import or_not_found

log = structlog.get_logger(__name__)


async def suspend(context: Context, actor: Actor, reason: str, *, by: str = "command") -> accounts.Account:
    """Suspend the account of the actor, or change the reason. Raises NotFound and Invalid.

    `by`: for the service's log, which of the operators; members of the account do not see it.
    """
    reason = suspension.check_reason(reason)
    change = partial(suspension.suspend, reason=reason, now=context.clock())
    account = await _change(context, actor, "account.suspended", change)
    log.info("account suspended", account=str(account.id), reason=reason, by=by)
    return account


async def resume(context: Context, actor: Actor, *, by: str = "command") -> accounts.Account:
    """Raises NotFound."""
    account = await _change(context, actor, "account.resumed", suspension.resume)
    log.info("account resumed", account=str(account.id), by=by)
    return account


async def _change(
    context: Context,
    actor: Actor,
    action: Literal["account.suspended", "account.resumed"],
    change: Callable[[Tx, UUID], Awaitable[accounts.Account]],
) -> accounts.Account:
    account_id = actor.account_id
    async with accounts.changing_callers(context.db) as tx:
        before = or_not_found(await accounts.find_account(tx, account_id))
        account = await change(tx, account_id)
        if account == before:
            return account
        details = {"reason": account.suspended_reason} if account.suspended_reason else None
        item = Item(account_id, account.email)
        await audit.record(tx, actor, action, context.clock(), item, details=details)
        await context.routes.account_changed(tx, account_id)
    await _invalidate_again(context, account_id)
    return account


async def _invalidate_again(context: Context, account_id: UUID) -> None:
    """Invalidate slugs that links got, and redirects loaded, between the look-up of slugs and the commit above."""
    async with context.db.write() as tx:
        await context.routes.account_changed(tx, account_id)
