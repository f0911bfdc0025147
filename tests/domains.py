"""Domain rows, for tests of other packages. The tests of domains are under `resources/domains`."""

from typing import Any
from uuid import UUID

from people import START
from sqlalchemy import delete, insert, select

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.domains.model import domains


async def domain(db: Database, account: UUID, hostname: str, *, is_served: bool = True, **fields: Any) -> UUID:
    id_ = new_id()
    row = {"id": id_, "account_id": account, "hostname": hostname, "token": "waypost-test", "is_served": is_served}
    row |= {"status": "verified" if is_served else "pending", "unverified_since": None if is_served else START}
    row |= {"failures": 0, "links_count": 0, "tls_status": "none", "created_at": START, "updated_at": START}
    async with db.write() as tx:
        await tx.execute(insert(domains).values(row | fields))
    return id_


async def count(db: Database, id_: UUID) -> int | None:
    """How many links the domain says it has; None when it is gone."""
    async with db.read() as tx:
        return (await tx.execute(select(domains.c.links_count).where(domains.c.id == id_))).scalar_one_or_none()


async def forget(db: Database, id_: UUID) -> None:
    """Delete the row and publish nothing."""
    async with db.write() as tx:
        await tx.execute(delete(domains).where(domains.c.id == id_))
