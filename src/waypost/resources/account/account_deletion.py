"""Deletes an account. At once: sign-in, keys and links stop working. Everything else goes in short steps of a job.

Slugs are kept: what was printed must never lead to another account.
"""

import contextlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from waypost import auth
from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.redirect import InvalidateRoutes
from waypost.resources import domains, links, pixels, plan, qrcodes, webhooks
from waypost.resources.account.deps import Deps
from waypost.resources.clicks import account_data as clicks_of_account
from waypost.resources.links import media
from waypost.worker import jobs, mail
from waypost.worker.jobs import Job

JOB = "account.close"
_AT_ONCE = 500
"""Rows of one transaction: nobody else waits for longer than it takes to write them."""
_TIME_LIMIT = 30.0  # seconds of one job; a new job continues afterwards
_DELAY = timedelta(minutes=1)  # by then the visits that were answered before the deletion are stored
_PHASES = ("links", "clicks", "rest")


async def preview_deletion(deps: Deps, account: auth.Account) -> dict[str, Any]:
    """What the page says before its owner deletes the account."""
    async with deps.auth.db.read() as tx:
        return {
            "links": await auth.count_links(tx, account.id),
            "has_payments": await plan.has_customer(tx, account.id),
            "has_trials": deps.auth.new_plan == "trial",
        }


async def close(deps: Deps, account: auth.Account) -> None:
    """Cannot be undone. Links that are too many for one transaction stop working within seconds."""
    db, account_id, now = deps.auth.db, account.id, deps.auth.clock()
    with auth.invalidating_callers(db):
        async with db.write() as tx:
            await auth.close_account(deps.auth, tx, account_id)
            await plan.cancel_later(tx, account_id, now)
            deleted = await links.delete_some(tx, account_id, now, at_once=_AT_ONCE, skip_locked=True)
            images = [each.image for each in deleted if each.image]  # nothing but this job names these files now
            first = {"phase": _PHASES[0], "images": images}
            await jobs.enqueue(tx, JOB, first, now=now, account_id=account_id)
    deps.invalidate_routes([each.slug for each in deleted])


@dataclass(frozen=True, slots=True)
class AccountDeletion:
    """The handler of `account.close`: one phase after the other. An interrupted phase starts again."""

    db: Database
    invalidate_routes: InvalidateRoutes
    domains: domains.Deps
    media: Path
    clock: Clock

    async def __call__(self, job: Job) -> None:
        if job.account_id is None:
            return
        for name in job.payload.get("images", ()):
            await media.discard(self.media, name)
        phase = job.payload["phase"]
        steps = {"links": self._links, "clicks": self._clicks, "rest": self._rest}[phase](job.account_id)
        is_done = await _has_finished(steps, within=_TIME_LIMIT)
        now, at = self.clock(), _PHASES.index(phase)
        if is_done and at + 1 == len(_PHASES):
            return
        payload = {"phase": _PHASES[at + 1] if is_done else phase}
        run_at = now + _DELAY if is_done and phase == "links" else now
        async with self.db.write() as tx:
            await jobs.enqueue(tx, JOB, payload, now=now, run_at=run_at, account_id=job.account_id)

    async def _links(self, account_id: UUID) -> AsyncGenerator[None, None]:
        """Everything that others can notice."""
        async for _ in links.delete_all_for(
            self.db,
            account_id,
            media_directory=self.media,
            invalidate_routes=self.invalidate_routes,
            clock=self.clock,
            at_once=_AT_ONCE,
        ):
            yield
        await pixels.delete_all_for(self.db, account_id)
        async for _ in webhooks.delete_all_for(self.db, account_id, at_once=_AT_ONCE):
            yield
        async for _ in domains.delete_all_for(self.domains, account_id):
            yield

    async def _clicks(self, account_id: UUID) -> AsyncGenerator[None, None]:
        async for _ in clicks_of_account.delete_all_for(self.db, account_id, at_once=_AT_ONCE):
            yield

    async def _rest(self, account_id: UUID) -> AsyncGenerator[None, None]:
        after = UUID(int=0)
        while True:
            async with self.db.read() as tx:
                ids = await links.ids_after(tx, account_id, after, at_most=_AT_ONCE)
            if not ids:
                break
            async with self.db.write() as tx:
                await qrcodes.delete_for_links(tx, ids)
                await links.delete_rows(tx, ids)
            after = ids[-1]
            yield
        async with self.db.write() as tx:
            await mail.delete_unsent(tx, account_id)
            await auth.delete_account_row(tx, account_id)


async def _has_finished(steps: AsyncGenerator[None, None], *, within: float) -> bool:
    end = time.monotonic() + within
    async with contextlib.aclosing(steps) as running:
        async for _ in running:
            if time.monotonic() > end:
                return False
    return True
