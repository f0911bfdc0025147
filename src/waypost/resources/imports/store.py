"""SQL of imports. An import is written by the process that has its lease, which every write checks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select, update

from waypost.database import Ciphertext, Tx, bulk
from waypost.kit.errors import or_not_found
from waypost.resources.imports.model import (
    COLUMNS,
    TURN_JOB,
    Import,
    import_checks,
    import_refusals,
    imported_links,
    imports,
)
from waypost.resources.imports.source import RefusedRow
from waypost.resources.imports.states import ACTIVE, BEGUN, ENDED, State, Transition
from waypost.worker import jobs

LEASE = timedelta(seconds=60)
_BATCH = 500  # parameters of one statement
_import = imports.c


async def add(tx: Tx, new: Import, token: Ciphertext | None = None) -> None:
    await tx.execute(insert(imports), {**asdict(new), "token": token})
    if new.has_page and new.is_active:
        await _enqueue_turn(tx, new, new.created_at)


async def find(tx: Tx, import_id: UUID) -> Import | None:
    return await tx.find(Import, select(*COLUMNS).where(_import.id == import_id))


async def get(tx: Tx, account_id: UUID, import_id: UUID) -> Import:
    """Raises NotFound, also for an import of another account."""
    query = select(*COLUMNS).where(_import.id == import_id, _import.account_id == account_id)
    return or_not_found(await tx.find(Import, query))


async def lock(tx: Tx, import_id: UUID) -> Import | None:
    """Find the import. Its state does not change before the transaction ends."""
    return await tx.find(Import, select(*COLUMNS).where(_import.id == import_id).with_for_update())


async def find_token(tx: Tx, import_id: UUID) -> Ciphertext | None:
    return (await tx.execute(select(_import.token).where(_import.id == import_id))).scalar_one_or_none()


async def list_newest(tx: Tx, account_id: UUID, limit: int) -> list[Import]:
    """Return those that have a page."""
    query = select(*COLUMNS).where(_import.account_id == account_id, _import.has_page).order_by(_import.id.desc())
    return [Import(*row) for row in await tx.execute(query.limit(limit))]


async def count_open(tx: Tx, account_id: UUID) -> tuple[int, int]:
    """Return how many imports with a page the account has that have not ended, and the bytes of their files."""
    query = select(func.count(), func.sum(_import.file_size)).where(_import.account_id == account_id, _import.has_page)
    count, size = (await tx.execute(query.where(_import.state.not_in(ENDED)))).one()
    return count, int(size or 0)


async def find_begun(tx: Tx, account_id: UUID) -> list[Import]:
    """Return the imports that run or can be continued, the newest first."""
    query = select(*COLUMNS).where(_import.account_id == account_id, _import.state.in_(BEGUN))
    return [Import(*row) for row in await tx.execute(query.order_by(_import.created_at.desc()))]


async def find_stopped(tx: Tx) -> list[str]:
    """Return why the imports of all accounts that can be continued have stopped, the newest first."""
    query = select(_import.message).where(_import.state == "stopped").order_by(_import.updated_at.desc())
    return [reason or "" for reason in await tx.scalars(query)]


async def find_unchanged(tx: Tx, state: State, before: datetime) -> Sequence[UUID]:
    """Return the imports that have had the state since before then."""
    return (await tx.scalars(select(_import.id).where(_import.state == state, _import.updated_at < before))).all()


async def find_open_ids(tx: Tx, ids: Collection[UUID]) -> set[UUID]:
    """Return those of the imports that have not ended."""
    return set(await tx.scalars(select(_import.id).where(_import.id.in_(ids), _import.state.not_in(ENDED))))


async def switch(tx: Tx, import_id: UUID, transition: Transition, now: datetime, **values: Any) -> Import | None:
    """Make a transition. Return the import as it was, locked, or None if it is in another state and stays there."""
    before = await lock(tx, import_id)
    if before is None or before.state not in transition.before:
        return None
    if transition.after in ENDED:
        values |= {"token": None, "lease_until": None, "leased_by": None}
    await save(tx, import_id, now, {"state": transition.after, "message": None, **values})
    if before.has_page and transition.after in ACTIVE and not before.is_active:  # otherwise its job exists
        await _enqueue_turn(tx, before, now)
    return before


async def _enqueue_turn(tx: Tx, import_: Import, now: datetime) -> None:
    payload = {"id": str(import_.id)}
    await jobs.enqueue(tx, TURN_JOB, payload, now=now, account_id=import_.account_id, id_=import_.id)


async def renew_lease(tx: Tx, import_id: UUID, holder: str, now: datetime) -> bool:
    """Lock the import. Return False if another process has taken the lease."""
    statement = update(imports).where(imports.c.id == import_id, imports.c.leased_by == holder)
    return (await tx.execute(statement.values(lease_until=now + LEASE))).rowcount == 1


async def release(tx: Tx, import_id: UUID, holder: str) -> bool:
    """Lock the import. Return False if the process does not have the lease."""
    statement = update(imports).where(_import.id == import_id, _import.leased_by == holder)
    return (await tx.execute(statement.values(lease_until=None, leased_by=None))).rowcount == 1


async def save(tx: Tx, import_id: UUID, now: datetime, values: Mapping[str, Any]) -> None:
    """Change a locked import."""
    await tx.execute(update(imports).where(_import.id == import_id).values(**values, updated_at=now))


async def save_progress(tx: Tx, import_id: UUID, now: datetime, values: Mapping[str, Any]) -> None:
    await save(tx, import_id, now, {**values, "message": None})


async def save_plan(tx: Tx, import_id: UUID, now: datetime, plan: Mapping[str, Any]) -> bool:
    """Return False if the import is not planned any more."""
    statement = update(imports).where(_import.id == import_id, _import.state == "planning")
    return (await tx.execute(statement.values(plan=plan, message=None, updated_at=now))).rowcount == 1


async def add_refusals(tx: Tx, import_id: UUID, first: int, rows: Sequence[RefusedRow]) -> None:
    """`first`: how many there were before."""
    if rows:
        values = [
            {"import_id": import_id, "number": number, "source_id": row.source_id, "reason": row.reason}
            for number, row in enumerate(rows, first)
        ]
        await tx.execute(insert(import_refusals), values)


async def list_refusals(tx: Tx, import_id: UUID) -> list[RefusedRow]:
    own = import_refusals.c
    query = select(own.source_id, own.reason).where(own.import_id == import_id).order_by(own.number)
    return [RefusedRow(*row) for row in await tx.execute(query)]


async def find_links(tx: Tx, account_id: UUID, keys: Sequence[UUID]) -> dict[UUID, tuple[UUID, str]]:
    """Return (link, digest) of those keys that were imported before."""
    rows = await bulk.find(tx, imported_links, [(account_id.bytes, key.bytes) for key in keys])
    return {UUID(bytes=key): (UUID(bytes=link), digest) for _, key, link, digest in rows}


async def save_links(tx: Tx, account_id: UUID, rows: Mapping[UUID, tuple[UUID, str]]) -> None:
    """`rows`: (link, digest) by key."""
    values = [(account_id.bytes, key.bytes, link.bytes, digest) for key, (link, digest) in sorted(rows.items())]
    replace = "ON CONFLICT (account_id, key) DO UPDATE SET link_id = excluded.link_id, digest = excluded.digest"
    await bulk.insert(tx, imported_links, values, on_conflict=replace)


async def add_checks(tx: Tx, import_: Import, link_ids: Sequence[UUID]) -> None:
    """Let the destinations of the links be checked."""
    rows = [(link_id.bytes, import_.account_id.bytes, None, None, import_.id.bytes) for link_id in sorted(link_ids)]
    again = "ON CONFLICT (link_id) DO UPDATE SET checked_at = NULL, problem = NULL, import_id = excluded.import_id"
    await bulk.insert(tx, import_checks, rows, on_conflict=again)


async def keep_checks(tx: Tx, import_: Import, link_ids: Sequence[UUID]) -> None:
    """Let what earlier imports found out about unchanged links be reported by this one."""
    for start in range(0, len(link_ids), _BATCH):
        in_batch = import_checks.c.link_id.in_(link_ids[start : start + _BATCH])
        await tx.execute(update(import_checks).where(in_batch).values(import_id=import_.id))


async def find_unchecked(tx: Tx, account_id: UUID, *, limit: int) -> Sequence[UUID]:
    own = import_checks.c
    query = select(own.link_id).where(own.account_id == account_id, own.checked_at.is_(None))
    return (await tx.scalars(query.order_by(own.link_id).limit(limit))).all()


async def save_checks(tx: Tx, problems: Mapping[UUID, str | None], now: datetime) -> None:
    """Keep the links with a problem, and forget the others."""
    own = import_checks.c
    await tx.execute(
        delete(import_checks).where(own.link_id.in_([id_ for id_, problem in problems.items() if not problem]))
    )
    for link_id, problem in problems.items():
        if problem:
            statement = update(import_checks).where(own.link_id == link_id)
            await tx.execute(statement.values(problem=problem, checked_at=now))


async def list_problems(tx: Tx, import_: Import, *, limit: int) -> list[tuple[UUID, str]]:
    """Return those of links that the import found, the newest first."""
    own = import_checks.c
    query = select(own.link_id, own.problem).where(
        own.account_id == import_.account_id, own.checked_at.is_not(None), own.import_id == import_.id
    )
    return [(row.link_id, row.problem) for row in await tx.execute(query.order_by(own.checked_at.desc()).limit(limit))]
