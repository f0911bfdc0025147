"""Changes of many links from the dashboard: started on a page, done in short steps, at once or by a job.

A step is one transaction with its progress, so that a process can die at any time and no link is changed twice.
A deletion takes effect at once and can be undone until `UNDO_TIME` is over; then what is left of the links is deleted.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select

from waypost import accounts, audit
from waypost.database import Database, Tx, upsert
from waypost.kit.errors import Invalid, NotFound
from waypost.resources.links import service, store
from waypost.resources.links.bulk import change_steps as steps
from waypost.resources.links.bulk import change_store as changes
from waypost.resources.links.bulk.change_store import UNDO_TIME, BulkChange, Kind, Selection
from waypost.resources.links.deps import Deps
from waypost.resources.links.images.media import ImageStore
from waypost.resources.links.lists import listing
from waypost.resources.links.model import CHANGE_JOB, PURGE_JOB, Link, bulk_changes, deleted_links
from waypost.worker import jobs
from waypost.worker.jobs import Again, Job

_PURGE_DELAY = timedelta(hours=1)
_LONGEST = timedelta(days=7)
"""After this time a change is deleted even if it runs: its job may have failed permanently."""
MAX_NOW = 100
"""More links than this are changed by a job."""
_MAX_FAILURES = 8
"""A change fails after so many errors in a row."""
_TIME_LIMIT = 30.0  # seconds of one job; a new job continues afterwards
BUSY = "Another change of many links is running. Wait until it has finished, or cancel it."


async def get(deps: Deps, account: UUID, id_: UUID) -> BulkChange:
    """Raises NotFound."""
    async with deps.db.read() as tx:
        return await changes.get(tx, account, id_)


async def count(deps: Deps, account: UUID, selection: Selection, containing: str = "") -> int:
    """Count the links of the selection. `containing`: a text in the destination."""
    async with deps.db.read_for(account) as tx:
        if selection.ids is None:
            return await listing.count_matching(tx, account, selection.filter, deps.clock(), containing=containing)
        return len(await changes.find_existing(tx, account, selection.ids, containing))


async def find_first(
    deps: Deps, account: UUID, selection: Selection, limit: int, containing: str = ""
) -> Sequence[Link]:
    """Return the first links of the selection."""
    async with deps.db.read_for(account) as tx:
        if selection.ids is None:
            found = await listing.find_ids_after(
                tx, account, selection.filter, deps.clock(), None, limit=limit, containing=containing
            )
            return await store.find_in_order(tx, account, [id_ for id_, _ in found])
        return (await changes.find_existing(tx, account, selection.ids, containing))[:limit]


async def start(
    deps: Deps, caller: accounts.Caller, id_: UUID, kind: Kind, selection: Selection, values: Mapping[str, Any]
) -> BulkChange:
    """Start a change once per `id_`, and run it now if it is of few links. Raises Invalid while another one runs."""
    containing = values["find"] if kind == "replace" else ""
    total = await count(deps, caller.account.id, selection, containing)
    payload = selection.to_payload() | dict(values)
    return await _start(deps, caller, id_, kind, payload, total)


async def undo(deps: Deps, caller: accounts.Caller, id_: UUID, deletion: UUID) -> BulkChange:
    """Restore the links that a change deleted. Raises NotFound if that is not possible any more."""
    change = await get(deps, caller.account.id, deletion)
    if not change.can_be_undone(deps.clock()):
        raise NotFound
    payload = {"change": str(deletion)}
    return await _start(deps, caller, id_, "restore", payload, change.changed)


async def cancel(deps: Deps, caller: accounts.Caller, id_: UUID) -> None:
    """Stop after the current step."""
    async with deps.db.write() as tx:
        change, now = await changes.lock(tx, caller.account.id, id_), deps.clock()
        if change.state == "running" and change.can_be_cancelled:
            await changes.finish(tx, id_, "cancelled", now)
            details = {"done": change.done, "of": change.total}
            await audit.record(tx, caller.actor, "links.change_cancelled", now, details=details)


async def run(deps: Deps, job: Job) -> Again | None:
    """Handle the job: continue the change until it has finished or time is up."""
    id_, account = UUID(job.payload["id"]), job.account_id
    if account is None:
        return None
    end, is_running = time.monotonic() + _TIME_LIMIT, True
    try:
        async with CHANGE_JOB.queue.own_timeout():
            while is_running and time.monotonic() < end:
                is_running = await steps.run(deps, account, id_)
    except NotFound:  # the account was deleted
        return None
    except Exception:
        if job.attempt >= _MAX_FAILURES:
            async with deps.db.write() as tx:
                if (await changes.get(tx, account, id_)).can_be_cancelled:
                    await changes.finish(tx, id_, "failed", deps.clock())
        raise
    return Again(deps.clock()) if is_running else None


async def stop(deps: Deps, tx: Tx, job: Job) -> None:
    """End the change whose job has ended the process several times."""
    await changes.finish(tx, UUID(job.payload["id"]), "failed", deps.clock())


async def purge(deps: Deps, job: Job) -> Again | None:
    """Handle the job: delete a change, and what is left of the links that it deleted.

    It waits for changes that run: find and replace in very many links takes days, and an undo may have begun late.
    """
    if job.account_id is None:
        return None
    id_, now = UUID(job.payload["id"]), deps.clock()
    async with deps.db.read() as tx:
        created_at = await tx.scalar(select(bulk_changes.c.created_at).where(bulk_changes.c.id == id_))
        is_running = await is_any_running(tx, job.account_id)
        if created_at and is_running and now < created_at + _LONGEST:
            return Again(now + _PURGE_DELAY)
    await _delete_change(deps.db, deps.image_store, job.account_id, id_)
    return None


async def delete_all(db: Database, image_store: ImageStore, account: UUID) -> None:
    """Delete the changes of a deleted account."""
    async with db.read() as tx:
        ids = (await tx.scalars(select(bulk_changes.c.id).where(bulk_changes.c.account_id == account))).all()
    for id_ in ids:
        await _delete_change(db, image_store, account, id_)


async def _delete_change(db: Database, image_store: ImageStore, account: UUID, id_: UUID) -> None:
    is_more_left = True
    while is_more_left:
        async with db.write() as tx:
            ids = await changes.find_deleted(tx, id_, None, steps.STEP)
            hidden = await store.find_hidden(tx, account, ids)
            await service.purge(tx, hidden)
            await tx.execute(delete(deleted_links).where(changes.of_change(id_), deleted_links.c.link_id.in_(ids)))
            is_more_left = len(ids) == steps.STEP
            if not is_more_left:
                await tx.execute(delete(bulk_changes).where(bulk_changes.c.id == id_))
        for link in hidden:
            await image_store.delete(link.og_image_file_name)


async def _start(
    deps: Deps, caller: accounts.Caller, id_: UUID, kind: Kind, payload: Mapping[str, Any], total: int
) -> BulkChange:
    async with deps.db.write() as tx:
        payload = {**payload, "entry": str(audit.new_entry_id(deps.clock()))}
        is_new = await begin(deps, tx, caller, id_, kind, payload, total)
        if is_new and not _is_small(kind, total):
            await accounts.lock_account(tx, caller.account.id)  # one at a time
            if await is_any_running(tx, caller.account.id, but=id_):
                raise Invalid({"body": [BUSY]})
    if is_new:
        await run_if_small(deps, caller.account.id, id_)
    return await get(deps, caller.account.id, id_)


async def begin(
    deps: Deps, tx: Tx, caller: accounts.Caller, id_: UUID, kind: Kind, payload: Mapping[str, Any], total: int
) -> bool:
    """Add a change and its jobs once per `id_`. Return whether it is new; then call `run_if_small` after the commit."""
    account, now = caller.account.id, deps.clock()
    row: dict[str, Any] = {"id": id_, "account_id": account, "kind": kind, "state": "running", "created_at": now}
    row |= {"total": total, "done": 0, "changed": 0, "refused": [], "refused_count": 0}
    row["payload"] = {**payload, "actor": caller.actor.to_json()}
    statement = upsert(tx, bulk_changes).values(row).on_conflict_do_nothing(index_elements=[bulk_changes.c.id])
    is_new = (await tx.execute(statement.returning(bulk_changes.c.id))).one_or_none() is not None
    if is_new:
        # also if it runs now, in case this process dies
        run_at = now + timedelta(minutes=1) if _is_small(kind, total) else now
        purge_at = now + UNDO_TIME + _PURGE_DELAY
        for job, at in ((CHANGE_JOB, run_at), (PURGE_JOB, purge_at)):
            await jobs.enqueue(tx, job, {"id": str(id_)}, now=now, run_at=at, account_id=account)
    return is_new


async def run_if_small(deps: Deps, account: UUID, id_: UUID) -> None:
    """Run the change now if it is of few links. Otherwise a job runs it."""
    change = await get(deps, account, id_)
    while _is_small(change.kind, change.total) and await steps.run(deps, account, id_):
        pass


def _is_small(kind: Kind, total: int) -> bool:
    return total <= MAX_NOW and kind != "replace"


async def find_running(tx: Tx, account: UUID, kind: Kind) -> UUID | None:
    running = bulk_changes.c.account_id == account, bulk_changes.c.state == "running", bulk_changes.c.kind == kind
    return await tx.scalar(select(bulk_changes.c.id).where(*running).limit(1))


async def is_any_running(tx: Tx, account: UUID, *, but: UUID | None = None) -> bool:
    running = bulk_changes.c.account_id == account, bulk_changes.c.state == "running"
    query = select(bulk_changes.c.id).where(*running).limit(1)
    return await tx.scalar(query.where(bulk_changes.c.id != but) if but else query) is not None
