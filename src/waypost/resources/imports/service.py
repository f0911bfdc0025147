"""Creates and reads imports. `ImportRun` runs one, and `requests` has what people do in the dashboard."""

from collections.abc import Mapping
from dataclasses import replace
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
    """Return the import that a command runs: a new one, or one that has begun with the same source and options.

    `options`: see `Import.options`. Raises ImportRunning.
    """
    async with deps.db.write() as tx:
        new = new_import(deps, actor, source, options)
        for begun in await lease.lock_begun(tx, actor.account_id, new.created_at):
            if begun.source == source and begun.options == new.options:
                await store.save(tx, begun.id, begun.updated_at, {"actor": new.actor})
                return replace(begun, actor=new.actor)
        await store.add(tx, new)
        await audit.record(tx, actor, "import.started", new.created_at, new.item)
    return new


def new_import(deps: Context, actor: Actor, source: str, options: Mapping[str, Any]) -> Import:
    """Return an import that is not stored. A dry run needs no more."""
    now = deps.clock()
    return Import(new_id(), actor.account_id, source, dict(options), now, now, actor.to_json())


async def get(db: Database, account_id: UUID, import_id: UUID) -> Import:
    """Raises NotFound."""
    async with db.read() as tx:
        return await store.get(tx, account_id, import_id)


async def get_report(db: Database, import_: Import) -> Report:
    """Return the report of the import so far, with all refused rows and what is known of destinations."""
    async with db.read() as tx:
        refused = await store.list_refusals(tx, import_.id)
        warnings = [*to_warnings(import_.warnings), *await warnings_about_destinations(tx, import_)]
    return Report(import_.source, Counts(**import_.counts), import_.total, warnings, refused)
