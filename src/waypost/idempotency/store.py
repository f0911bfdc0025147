"""SQL of idempotency keys."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select, update

from waypost.database import Ciphertext, Database, Tx, upsert
from waypost.idempotency.model import KEPT_FOR, KeyRow, idempotency_keys
from waypost.kit.clock import Clock

_BATCH_SIZE = 500
_rows = idempotency_keys.c
_IS_RUNNING = _rows.lease_until.is_not(None)
_ROW = (_rows.id, _rows.request_id, _rows.digest, _rows.lease_until, _rows.created_at)


async def find(tx: Tx, account: UUID, key: str) -> KeyRow | None:
    return await tx.find(KeyRow, select(*_ROW).where(_rows.account_id == account, _rows.key == key))


async def lock(tx: Tx, account: UUID, key: str) -> KeyRow | None:
    query = select(*_ROW).where(_rows.account_id == account, _rows.key == key)
    return await tx.find(KeyRow, query.with_for_update())


async def add(tx: Tx, account: UUID, key: str, row: KeyRow) -> bool:
    """Return False if the account has the key already."""
    values = {"account_id": account, "key": key, **asdict(row)}
    statement = upsert(tx, idempotency_keys).values(values).on_conflict_do_nothing().returning(_rows.id)
    return (await tx.execute(statement)).first() is not None


async def replace(tx: Tx, before: UUID, row: KeyRow) -> None:
    """Give a locked key to another attempt."""
    values = {**asdict(row), "status": None, "answer": None, "answer_bytes": 0}
    await tx.execute(update(idempotency_keys).where(_rows.id == before).values(values))


async def renew(tx: Tx, id_: UUID, lease_until: datetime) -> None:
    await tx.execute(update(idempotency_keys).where(_rows.id == id_, _IS_RUNNING).values(lease_until=lease_until))


async def save_answer(tx: Tx, id_: UUID, status: int, answer: Ciphertext) -> bool:
    """Return False if another attempt has taken the key over."""
    values = {"status": status, "answer": answer, "answer_bytes": len(answer), "lease_until": None}
    return (await tx.execute(update(idempotency_keys).where(_rows.id == id_).values(values))).rowcount == 1


async def read_answer(tx: Tx, id_: UUID) -> tuple[int, Ciphertext] | None:
    row = (await tx.execute(select(_rows.status, _rows.answer).where(_rows.id == id_))).one_or_none()
    return (row.status, row.answer) if row else None


async def remove(tx: Tx, id_: UUID) -> None:
    """Unless it is answered: a commit that seemed to fail may have succeeded."""
    await tx.execute(delete(idempotency_keys).where(_rows.id == id_, _IS_RUNNING))


async def measure(tx: Tx, account: UUID) -> tuple[int, int]:
    """Return (number of keys, bytes of answers) of the account."""
    query = select(func.count(), func.coalesce(func.sum(_rows.answer_bytes), 0)).where(_rows.account_id == account)
    count, size = (await tx.execute(query)).one()
    return count, int(size)


async def delete_expired(db: Database, clock: Clock) -> bool:
    """Delete one batch. Return whether there may be more."""
    query = select(_rows.id).where(_rows.created_at <= clock() - KEPT_FOR).limit(_BATCH_SIZE)
    async with db.read() as tx:  # usually there is nothing to do, and a read takes no write lock
        ids = (await tx.execute(query)).scalars().all()
    if ids:
        async with db.write() as tx:
            await tx.execute(delete(idempotency_keys).where(_rows.id.in_(ids)))
    return len(ids) == _BATCH_SIZE
