"""Gives up imports that nobody continues, so that no token or file stays."""

from datetime import timedelta

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.resources.imports import store
from waypost.resources.imports.requests.uploads import Uploads
from waypost.resources.imports.states import GIVE_UP, State

_LIMITS: dict[State, timedelta] = {
    "uploading": timedelta(days=1),
    "plan_stopped": timedelta(days=7),
    "planned": timedelta(days=7),
    "stopped": timedelta(days=60),  # the quotas of some sources last for a month
}
"""How long an import may stay in a state."""

log = structlog.get_logger(__name__)


async def give_up_unused(db: Database, uploads: Uploads, *, clock: Clock) -> bool:
    now = clock()
    for state, limit in _LIMITS.items():
        async with db.read() as tx:
            unused = await store.find_unchanged(tx, state, now - limit)
        for import_id in unused:
            async with db.write() as tx:
                given_up = await store.switch(tx, import_id, GIVE_UP._replace(before=(state,)), now)
            if given_up:
                log.info("unused import given up", id=str(import_id), source=given_up.source)
    await _delete_files(db, uploads)
    return False


async def _delete_files(db: Database, uploads: Uploads) -> None:
    """Delete files of imports that have ended, also on other nodes, or whose account was deleted."""
    ids = await uploads.list_ids()
    if not ids:
        return
    async with db.read() as tx:
        needed = await store.find_open_ids(tx, ids)
    for import_id in ids - needed:
        await uploads.delete(import_id)
