"""Gives up imports that nobody continues, so that no token or file stays."""

from datetime import timedelta

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.imports.requests import store
from waypost.resources.imports.requests.model import State
from waypost.resources.imports.requests.uploads import Uploads

_LIMITS: dict[State, timedelta] = {
    "uploading": timedelta(days=1),
    "plan_stopped": timedelta(days=7),
    "planned": timedelta(days=7),
    "stopped": timedelta(days=60),  # the quotas of some sources last for a month
}
"""How long a request may stay in a state."""

log = structlog.get_logger(__name__)


async def give_up_unused(db: Database, uploads: Uploads, *, clock: Clock) -> bool:
    now = clock()
    for state, limit in _LIMITS.items():
        async with db.read() as tx:
            ids = await store.find_ids_unchanged_since(tx, state, now - limit)
        for request_id in ids:
            async with db.write() as tx:
                request = await store.lock(tx, request_id)
                if request is None or request.state != state or request.updated_at >= now - limit:
                    continue
                await store.change(tx, request_id, now, state="given_up", message=None)
            log.info("unused import given up", id=str(request_id), source=request.source)
    await _delete_files(db, uploads)
    return False


async def _delete_files(db: Database, uploads: Uploads) -> None:
    """Delete files of imports that have ended, also on other nodes, or whose account was deleted."""
    ids = await uploads.list_ids()
    if not ids:
        return
    async with db.read() as tx:
        needed = await store.find_open_ids(tx, ids)
    for request_id in ids - needed:
        await uploads.delete(request_id)
