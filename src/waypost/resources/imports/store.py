"""SQL of imports. An import is written by the process that has its lease, which every write checks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from waypost.database import Tx, bulk
from waypost.kit.errors import NotFound
from waypost.resources.imports.model import (
    COLUMNS,
    Import,
    ImportState,
    import_checks,
    import_refusals,
    imported_links,
    imports,
)
from waypost.resources.imports.source import RefusedRow

LEASE = timedelta(seconds=60)
_BATCH = 500  # parameters of one statement


async def add(tx: Tx, new: Import) -> None:
    await tx.execute(insert(imports), asdict(new))


async def find(tx: Tx, account_id: UUID, import_id: UUID) -> Import:
    """Raises NotFound."""
    query = select(*COLUMNS).where(imports.c.id == import_id, imports.c.account_id == account_id)
    row = (await tx.execute(query)).one_or_none()
    if row is None:
        raise NotFound
    return Import(*row)


async def find_unfinished(tx: Tx, account_id: UUID) -> list[Import]:
    """Return the imports that run or can be continued, the newest first."""
    query = select(*COLUMNS).where(imports.c.account_id == account_id, imports.c.state != "finished")
    return [Import(*row) for row in await tx.execute(query.order_by(imports.c.created_at.desc()))]


async def take_lease(tx: Tx, import_id: UUID, holder: str, now: datetime) -> None:
    values = {"state": "running", "error": None, "leased_by": holder, "lease_until": now + LEASE, "updated_at": now}
    await tx.execute(update(imports).where(imports.c.id == import_id).values(values))


async def renew_lease(tx: Tx, import_id: UUID, holder: str, now: datetime) -> bool:
    """Lock the import. Return False if another process has taken the lease."""
    statement = update(imports).where(imports.c.id == import_id, imports.c.leased_by == holder)
    return (await tx.execute(statement.values(lease_until=now + LEASE))).rowcount == 1


async def save(tx: Tx, import_id: UUID, now: datetime, values: Mapping[str, Any]) -> None:
    await tx.execute(update(imports).where(imports.c.id == import_id).values(**values, updated_at=now))


async def release(tx: Tx, import_id: UUID, holder: str, now: datetime, state: ImportState, error: str | None) -> None:
    values = {"state": state, "error": error, "lease_until": None, "leased_by": None, "updated_at": now}
    await tx.execute(update(imports).where(imports.c.id == import_id, imports.c.leased_by == holder).values(values))


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
