"""The links of a domain that was deleted: on the shared one from then on, though their rows are written only here.

In short transactions, one after the other: others write in between, however many links there were.
"""

from uuid import UUID

from sqlalchemy import select, update

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.resources.links.model import links
from waypost.worker import jobs
from waypost.worker.model import Job

JOB = "links.free"
_AT_ONCE = 2_000


async def detach_domain(tx: Tx, account_id: UUID, domain_id: UUID, *, clock: Clock) -> None:
    """In the transaction that deletes the domain."""
    await jobs.enqueue(tx, JOB, {"domain_id": str(domain_id)}, now=clock(), account_id=account_id)


class DomainDetach:
    """The handler of `links.free`. Begins anew where it was cut off: what is done is no longer found."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def __call__(self, job: Job) -> None:
        domain = UUID(job.payload["domain_id"])
        some = select(links.c.id).where(links.c.domain_id == domain).limit(_AT_ONCE)
        # said twice: on PostgreSQL one that was waited for is looked at anew, and may be on another domain by now
        freed = update(links).where(links.c.id.in_(some), links.c.domain_id == domain).values(domain_id=None)
        is_more_left = True
        while is_more_left:
            async with self._db.write() as tx:
                is_more_left = (await tx.execute(freed)).rowcount > 0
