"""Suspends and resumes accounts. Both are one transaction, whatever the account has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal
from uuid import UUID

import structlog

from waypost import accounts, audit
from waypost.accounts import suspension
from waypost.audit import Actor, Item
from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.errors import or_not_found
from waypost.resources import links

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SuspensionDeps:
    db: Database
    routes: links.Routes
    clock: Clock


async def suspend(deps: SuspensionDeps, actor: Actor, reason: str, *, by: str = "command") -> accounts.Account:
    """Suspend the account of the actor, or change the reason. Raises NotFound and Invalid.

    `by`: for the service's log, which of the operators; members of the account do not see it.
    """
    reason = suspension.check_reason(reason)
    change = partial(suspension.suspend, reason=reason, now=deps.clock())
    account = await _change(deps, actor, "account.suspended", change)
    log.info("account suspended", account=str(account.id), reason=reason, by=by)
    return account


async def resume(deps: SuspensionDeps, actor: Actor, *, by: str = "command") -> accounts.Account:
    """Raises NotFound."""
    account = await _change(deps, actor, "account.resumed", suspension.resume)
    log.info("account resumed", account=str(account.id), by=by)
    return account


async def _change(
    deps: SuspensionDeps,
    actor: Actor,
    action: Literal["account.suspended", "account.resumed"],
    change: Callable[[Tx, UUID], Awaitable[accounts.Account]],
) -> accounts.Account:
    account_id = actor.account_id
    with accounts.invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            before = or_not_found(await accounts.find_account(tx, account_id))
            account = await change(tx, account_id)
            if account == before:
                return account
            details = {"reason": account.suspended_reason} if account.suspended_reason else None
            item = Item(account_id, account.email)
            await audit.record(tx, actor, action, deps.clock(), item, details=details)
            await deps.routes.account_changed(tx, account_id)
    await _invalidate_again(deps, account_id)
    return account


async def _invalidate_again(deps: SuspensionDeps, account_id: UUID) -> None:
    """Invalidate slugs that links got, and redirects loaded, between the look-up of slugs and the commit above."""
    async with deps.db.write() as tx:
        await deps.routes.account_changed(tx, account_id)
