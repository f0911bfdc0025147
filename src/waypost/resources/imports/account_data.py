"""Deletes and exports the imports that one account requested. What they imported belongs to the links."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, ndjson_file
from waypost.context import Context
from waypost.database import Database
from waypost.kit.clock import timestamp
from waypost.resources.imports.requests import store
from waypost.resources.imports.requests.model import import_requests

_MAX_EXPORTED = 1_000


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete the requests with their tokens and files in one transaction. Files on a disk follow, see `expiry`."""
    async with context.db.write() as tx:
        deleted = await tx.execute(delete(import_requests).where(import_requests.c.account_id == account_id))
    if deleted.rowcount:  # a job that is stopped after a step without effect would repeat that step forever
        yield


def export(context: Context, account: Account, _: datetime) -> Files:
    return {"imports.ndjson": ndjson_file(_requests(context.db, account.id))}


async def _requests(db: Database, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the newest requests, without tokens and files."""
    async with db.read() as tx:
        requests = await store.list_newest(tx, account_id, _MAX_EXPORTED)
    yield [
        {
            "id": str(request.id),
            "source": request.source,
            "status": request.state,
            "url": request.url,
            "file_name": request.file_name,
            "domains": dict(request.domains),
            "created_at": timestamp(request.created_at),
            "updated_at": timestamp(request.updated_at),
        }
        for request in requests
    ]
