"""Deletes an account. Sign-in, keys and links stop working immediately; a job deletes the data in short steps.

Slugs are kept, so that printed links never redirect to another account's destinations.
"""

import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Table, select

from waypost import accounts, mail
from waypost.accounts import emails
from waypost.accounts.deps import Deps
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Person
from waypost.accounts.sessions.store import Session
from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import Unavailable
from waypost.resource import DELETED_AT_ONCE, DeleteSome, Resource
from waypost.resources import plan
from waypost.resources.links import account_data as links_of_account
from waypost.worker import jobs
from waypost.worker.jobs import Again, Job

JOB = jobs.JobKind("account.delete", max_attempts=1_000)  # ClickHouse may hang for days
_TIME_LIMIT = 30.0  # seconds of one job; a new job continues afterwards
_DELAY = timedelta(minutes=1)  # by then the visits that were answered before the deletion are stored
_PHASES = ("links", "clicks", "rest")


async def count_deleted_data(deps: Deps, account: accounts.Account) -> dict[str, Any]:
    """Return the variables of the page that asks for confirmation."""
    async with deps.db.read() as tx:
        return {
            "links": await accounts.count_links(tx, account.id),
            "members": len(await memberships.list_of_account(tx, account.id)),
            "has_payments": await plan.has_customer(tx, account.id),
            "has_trials": deps.new_plan == "trial",
        }


async def start(deps: Deps, session: Session) -> None:
    """Delete an account. If it has too many links for one transaction, the others stop working within seconds.

    Raises Forbidden, and NotFound if it is already deleted.
    """
    db, account_id, now = deps.db, session.account.id, deps.clock()
    async with accounts.changing_callers(db) as tx:
        await accounts.lock_account(tx, account_id)
        await memberships.require_action(tx, session.actor, "account.delete")
        owners = await memberships.list_owners(tx, account_id)
        await accounts.mark_account_deleted(deps, tx, account_id)
        await _notify(deps, tx, session, owners)  # afterwards: it deletes unsent emails of people it deletes
        await plan.cancel_later(tx, account_id, now)
        deleted = await links_of_account.delete_batch(
            deps.context.routes, tx, account_id, now, batch_size=DELETED_AT_ONCE, skip_locked=True
        )
        images = [link.og_image_file_name for link in deleted if link.og_image_file_name]
        first = {"phase": _PHASES[0], "images": images}  # only this job knows these images now
        await jobs.enqueue(tx, JOB, first, now=now, account_id=account_id)


async def _notify(deps: Deps, tx: Tx, session: Session, owners: Sequence[Person]) -> None:
    message = emails.account_deleted(deps.base_url, session.account.name, session.person.email)
    for owner in owners:
        if owner.id != session.person.id:
            await emails.notify(tx, message, owner, now=deps.clock())


@dataclass(frozen=True, slots=True)
class AccountDeletion:
    """Handles the job, which has a phase. An interrupted phase starts again."""

    context: Context
    resources: Sequence[Resource]

    async def __call__(self, job: Job) -> Again | None:
        if job.account_id is None:
            return None
        for name in job.payload.get("images", ()):
            await self.context.image_store.delete(name)
        phase = job.payload["phase"]
        handlers = {"links": self._delete_public_data, "clicks": self._delete_clicks, "rest": self._delete_rows}
        is_done = is_available = False
        with contextlib.suppress(Unavailable):  # an outage of ClickHouse may outlast the attempts of a job
            is_done = await _has_finished(handlers[phase](job.account_id), within=_TIME_LIMIT)
            is_available = True
        now, index = self.context.clock(), _PHASES.index(phase)
        if is_done and index + 1 == len(_PHASES):
            return None
        run_at = now + _DELAY if (is_done and phase == "links") or not is_available else now
        return Again(run_at, payload={"phase": _PHASES[index + 1] if is_done else phase})

    async def delete_now(self, account_id: UUID) -> None:
        """Delete everything without jobs, for an account whose links nobody visits meanwhile."""
        for delete in (self._delete_public_data, self._delete_clicks, self._delete_rows):
            async for _ in delete(account_id):
                pass

    async def _delete_public_data(self, account_id: UUID) -> AsyncGenerator[None, None]:
        for resource in self.resources:
            for table in resource.deleted_rows:
                async for _ in delete_rows(self.context, account_id, table):
                    yield
            if resource.delete:
                async for _ in resource.delete(self.context, account_id):
                    yield

    async def _delete_clicks(self, account_id: UUID) -> AsyncGenerator[None, None]:
        db = self.context.db
        async for _ in self.context.click_store.delete_account_data(db, account_id, batch_size=DELETED_AT_ONCE):
            yield

    async def _delete_rows(self, account_id: UUID) -> AsyncGenerator[None, None]:
        """Delete link rows and what refers to them, then the rest, unsent emails and the account."""
        of_links = [resource.delete_of_links for resource in reversed(self.resources) if resource.delete_of_links]
        after = UUID(int=0)
        while True:
            async with self.context.db.read() as tx:
                ids = await links_of_account.find_ids_after(tx, account_id, after, limit=DELETED_AT_ONCE)
            if not ids:
                break
            async with self.context.db.write() as tx:
                for delete in of_links:
                    await delete(tx, ids)
            after = ids[-1]
            yield
        for resource in self.resources:
            if resource.delete_last:
                async for _ in delete_in_steps(self.context, account_id, resource.delete_last):
                    yield
        async with self.context.db.write() as tx:
            await mail.delete_unsent(tx, account_id)
            await accounts.delete_account_row(tx, account_id)


def delete_rows(context: Context, account_id: UUID, table: Table) -> AsyncGenerator[None, None]:
    """Delete the account's rows of a table. Yields after each transaction that deleted something."""
    (key,) = table.primary_key

    async def delete_some(tx: Tx, account_id: UUID, limit: int) -> int:
        some = select(key).where(table.c.account_id == account_id).limit(limit)
        return (await tx.execute(table.delete().where(key.in_(some)))).rowcount

    return delete_in_steps(context, account_id, delete_some)


async def delete_in_steps(context: Context, account_id: UUID, delete_some: DeleteSome) -> AsyncGenerator[None, None]:
    deleted = DELETED_AT_ONCE
    while deleted >= DELETED_AT_ONCE:
        async with context.db.write() as tx:
            deleted = await delete_some(tx, account_id, DELETED_AT_ONCE)
        if deleted:  # a job that is stopped after a step without effect would repeat that step forever
            yield


async def _has_finished(steps: AsyncGenerator[None, None], *, within: float) -> bool:
    end = time.monotonic() + within
    async with contextlib.aclosing(steps) as running:
        async for _ in running:
            if time.monotonic() > end:
                return False
    return True
