"""Moves the links of a deleted domain to the shared one, and deletes its aliases.

Redirects work like this already; a job updates the rows.
It uses short transactions, so that other writers do not wait for it.
"""

from functools import partial
from uuid import UUID

from sqlalchemy import select, update

from waypost.context import Context
from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.redirect import ALL_NEAR
from waypost.resources import domains
from waypost.resources.links import aliases, store
from waypost.resources.links.model import NOT_DELETED, links
from waypost.resources.links.routes.changes import Routes
from waypost.worker import jobs
from waypost.worker.jobs import Job

JOB = jobs.JobKind("links.detach_domain", max_attempts=1_000)  # each detaches what it has time for
_BATCH_SIZE = 2_000
_ALIAS_BATCH = 200  # each is of another link, whose searchable text changes


def domain_deps(context: Context) -> domains.Deps:
    """Return the dependencies of domains, which know nothing of links."""
    return domains.Deps(**vars(context), detach_links=partial(detach_domain, clock=context.clock))


async def detach_domain(tx: Tx, account_id: UUID, domain_id: UUID, *, clock: Clock) -> None:
    """Enqueue the job, in the transaction that deletes the domain."""
    await jobs.enqueue(tx, JOB, {"domain_id": str(domain_id)}, now=clock(), account_id=account_id)


async def detach_links(db: Database, routes: Routes, job: Job) -> None:
    """Handle the job. It can be interrupted and repeated. Deleted links keep the domain until they are restored."""
    domain = UUID(job.payload["domain_id"])
    batch = select(links.c.id).where(links.c.domain_id == domain, NOT_DELETED).limit(_BATCH_SIZE)
    # the domain twice: PostgreSQL checks a row again after waiting for it, and it may be on another domain by then
    detach = update(links).where(links.c.id.in_(batch), links.c.domain_id == domain).values(domain_id=None)
    is_done = False
    while not is_done:
        async with db.write() as tx:
            is_done = (await tx.execute(detach)).rowcount == 0
            if is_done:  # once, also after an interruption
                await routes.changed(tx, [ALL_NEAR])
    while await _delete_aliases(db, domain):
        pass


async def _delete_aliases(db: Database, domain: UUID) -> bool:
    """Delete some aliases of the domain, and what searches found by them. Return False if there are none."""
    async with db.write() as tx:
        found = await aliases.find_of_domain(tx, domain, _ALIAS_BATCH)
        locked = await store.lock_any(tx, set(found.values()))  # first, as everywhere: that avoids deadlocks
        await aliases.delete(tx, found)
        await store.save_search_texts(tx, locked)
    return bool(found)
