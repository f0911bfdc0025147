"""Move the links of a deleted domain to the shared one. They redirect from there at once; this job only writes it down.

In many short transactions, so that others can write in between.
"""

from uuid import UUID

from sqlalchemy import select, update

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.resources.links.model import links
from waypost.worker import jobs
from waypost.worker.jobs import Job

JOB = "links.detach_domain"
_BATCH = 2_000


async def detach_domain(tx: Tx, account_id: UUID, domain_id: UUID, *, clock: Clock) -> None:
    """In the transaction that deletes the domain."""
    await jobs.enqueue(tx, JOB, {"domain_id": str(domain_id)}, now=clock(), account_id=account_id)


async def detach_links(db: Database, job: Job) -> None:
    """Handler of the job. Resumable: links that are done are not found again."""
    domain = UUID(job.payload["domain_id"])
    batch = select(links.c.id).where(links.c.domain_id == domain).limit(_BATCH)
    # the domain twice: PostgreSQL checks a row again after waiting for it, and it may be on another domain by then
    detach = update(links).where(links.c.id.in_(batch), links.c.domain_id == domain).values(domain_id=None)
    is_done = False
    while not is_done:
        async with db.write() as tx:
            is_done = (await tx.execute(detach)).rowcount == 0
