"""Suspends and resumes accounts. Both are one transaction, whatever the account has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog

from waypost import auth
from waypost.auth import suspension
from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.redirect import InvalidateRoutes
from waypost.resources import links

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SuspensionDeps:
    db: Database
    invalidate_routes: InvalidateRoutes
    clock: Clock


async def suspend(deps: SuspensionDeps, account_id: UUID, reason: str) -> auth.Account:
    """Suspend the account, or change the reason. Raises NotFound and Invalid."""
    reason = suspension.check_reason(reason)
    account = await _change(deps, account_id, partial(suspension.suspend, reason=reason, now=deps.clock()))
    log.info("account suspended", account=str(account_id), reason=reason)
    return account


async def resume(deps: SuspensionDeps, account_id: UUID) -> auth.Account:
    """Raises NotFound."""
    account = await _change(deps, account_id, suspension.resume)
    log.info("account resumed", account=str(account_id))
    return account


async def _change(
    deps: SuspensionDeps, account_id: UUID, change: Callable[[Tx, UUID], Awaitable[auth.Account]]
) -> auth.Account:
    with auth.invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            account = await change(tx, account_id)
            publish = await links.invalidate_account(deps.invalidate_routes, deps.clock, tx, account_id)
    publish()
    await _invalidate_again(deps, account_id)
    return account


async def _invalidate_again(deps: SuspensionDeps, account_id: UUID) -> None:
    """Invalidate slugs that links got, and redirects loaded, between the look-up of slugs and the commit above."""
    async with deps.db.write() as tx:
        publish = await links.invalidate_account(deps.invalidate_routes, deps.clock, tx, account_id)
    publish()
