"""Creates and reads imports. `ImportRun` runs one."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from waypost import audit
from waypost.audit import Actor
from waypost.context import Context
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.imports import lease, store
from waypost.resources.imports.destination_checks import warnings_about_destinations
from waypost.resources.imports.model import Import
from waypost.resources.imports.report import Counts, Report, to_warnings


async def create(deps: Context, actor: Actor, source: str, options: Mapping[str, Any]) -> Import:
    """Return the import to run: a new one, or an unfinished one of the same source and options, which continues.

    `options`: JSON of everything that decides what is imported: `url`, `file` (a digest of its content), `domains`
    (hostname here by hostname of the source), `clicks` (whether they are imported), `timezone`. Raises
    ImportRunning.
    """
    async with deps.db.write() as tx:
        unfinished = await lease.lock_unfinished(tx, actor.account_id, deps.clock())
        same = (found for found in unfinished if found.source == source and found.options == dict(options))
        import_ = next(same, None)
        if import_ is None:
            import_ = new_import(deps, actor, source, options)
            await store.add(tx, import_)
            await audit.record(tx, actor, "import.started", import_.created_at, import_.item)
    return import_


def new_import(deps: Context, actor: Actor, source: str, options: Mapping[str, Any]) -> Import:
    """Return an import that is not stored. A dry run needs no more."""
    now = deps.clock()
    return Import(new_id(), actor.account_id, source, dict(options), now, now, actor.to_json())


async def get(db: Database, account_id: UUID, import_id: UUID) -> Import:
    """Raises NotFound."""
    async with db.read() as tx:
        return await store.find(tx, account_id, import_id)


async def get_report(db: Database, import_: Import) -> Report:
    """Return the report of the import so far, with all refused rows and what is known of destinations."""
    async with db.read() as tx:
        refused = await store.list_refusals(tx, import_.id)
        warnings = [*to_warnings(import_.warnings), *await warnings_about_destinations(tx, import_)]
    return Report(import_.source, Counts(**import_.counts), import_.total, warnings, refused)
