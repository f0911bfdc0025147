"""SQL of requested imports."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, desc, exists, func, select, union_all, update

from waypost.database import Ciphertext, Tx
from waypost.kit.errors import NotFound
from waypost.resources.imports.model import imports
from waypost.resources.imports.requests.model import ENDED, TURN_JOB, ImportRequest, State, import_requests
from waypost.worker import jobs

"""Of one turn: its job outlasts an outage of the database."""
_request = import_requests.c
_COLUMNS = [
    _request.token.is_not(None).label("has_token") if field.name == "has_token" else _request[field.name]
    for field in fields(ImportRequest)
]


async def add(tx: Tx, request: ImportRequest, token: Ciphertext | None) -> None:
    values = {field.name: getattr(request, field.name) for field in fields(ImportRequest) if field.name != "has_token"}
    await tx.execute(import_requests.insert().values(**values, token=token))


async def find(tx: Tx, request_id: UUID) -> ImportRequest | None:
    row = (await tx.execute(select(*_COLUMNS).where(_request.id == request_id))).one_or_none()
    return None if row is None else ImportRequest(*row)


async def get(tx: Tx, account_id: UUID, request_id: UUID) -> ImportRequest:
    """Raises NotFound, also for a request of another account."""
    request = await find(tx, request_id)
    if request is None or request.account_id != account_id:
        raise NotFound
    return request


async def find_token(tx: Tx, request_id: UUID) -> Ciphertext | None:
    return (await tx.execute(select(_request.token).where(_request.id == request_id))).scalar_one_or_none()


async def list_newest(tx: Tx, account_id: UUID, limit: int) -> Sequence[ImportRequest]:
    query = select(*_COLUMNS).where(_request.account_id == account_id).order_by(_request.id.desc()).limit(limit)
    return [ImportRequest(*row) for row in await tx.execute(query)]


async def count_open(tx: Tx, account_id: UUID) -> tuple[int, int]:
    """Return how many requests of the account have not ended, and the bytes of their files."""
    query = select(func.count(), func.sum(_request.file_size))
    rows = await tx.execute(query.where(_request.account_id == account_id, _request.state.not_in(ENDED)))
    count, size = rows.one()
    return count, int(size or 0)


async def lock(tx: Tx, request_id: UUID) -> ImportRequest | None:
    """Find the request. Its state does not change before the transaction ends."""
    query = select(*_COLUMNS).where(_request.id == request_id).with_for_update()
    row = (await tx.execute(query)).one_or_none()
    return None if row is None else ImportRequest(*row)


async def change(tx: Tx, request_id: UUID, now: datetime, *, state: State, **values: Any) -> None:
    """Change a locked request."""
    if state in ENDED:
        values["token"] = None
    statement = update(import_requests).where(_request.id == request_id)
    await tx.execute(statement.values(state=state, updated_at=now, **values))


async def save(tx: Tx, request: ImportRequest, now: datetime, **values: Any) -> bool:
    """Save the progress of a turn. Return False if the request is in another state by now."""
    statement = update(import_requests).where(_request.id == request.id, _request.state == request.state)
    return (await tx.execute(statement.values(updated_at=now, **values))).rowcount > 0


async def set_domains(tx: Tx, request_id: UUID, hostnames: Mapping[str, str]) -> None:
    """Change where links go, unless the import has begun by now."""
    statement = update(import_requests).where(_request.id == request_id, _request.state == "planned")
    await tx.execute(statement.values(domains=hostnames))


async def give_up_unchanged(tx: Tx, state: State, before: datetime, now: datetime) -> Sequence[Row[UUID, str]]:
    """Give up requests that have had the state since before then. Return id and source of each."""
    statement = update(import_requests).where(_request.state == state, _request.updated_at < before)
    values = {"state": "given_up", "token": None, "message": None, "updated_at": now}
    return (await tx.execute(statement.values(values).returning(_request.id, _request.source))).all()


async def find_stopped(tx: Tx) -> list[str]:
    """Return why the imports of all accounts that can be continued have stopped, the newest first.

    The state of a requested import is that of its request, until a command runs the import.
    """
    is_decided = exists().where(_request.import_id == imports.c.id, _request.updated_at >= imports.c.updated_at)
    requested = select(_request.message, _request.updated_at).where(_request.state == "stopped")
    others = select(imports.c.error, imports.c.updated_at).where(imports.c.state == "stopped", ~is_decided)
    rows = await tx.execute(union_all(requested, others).order_by(desc("updated_at")))
    return [reason or "" for reason, _ in rows]


async def find_open_ids(tx: Tx, ids: Collection[UUID]) -> set[UUID]:
    """Return those of the requests that have not ended."""
    return set(await tx.scalars(select(_request.id).where(_request.id.in_(ids), _request.state.not_in(ENDED))))


async def enqueue_turn(tx: Tx, request: ImportRequest, now: datetime, delay: timedelta = timedelta(0)) -> None:
    payload = {"id": str(request.id)}
    await jobs.enqueue(tx, TURN_JOB, payload, now=now, run_at=now + delay, account_id=request.account_id)
