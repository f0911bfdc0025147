"""Runs an import: applies each plan in the transaction that stores where the next page begins, under a lease.

So an import can be killed at any point: it continues after the last page that was stored.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TypeVar

from waypost import audit
from waypost.audit import Actor
from waypost.kit.errors import Unavailable, WaypostError
from waypost.resources.imports import lease, states, store
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import CHECK_JOB, Import
from waypost.resources.imports.page_plan import Outdated, PagePlan, Progress
from waypost.resources.imports.pipeline import Pipeline
from waypost.resources.imports.report import Report, to_warnings
from waypost.resources.imports.source import Source
from waypost.worker import jobs

T = TypeVar("T")

_MAX_PLANS = 20
"""Of one page. Each of them but the last one was outdated by what others did at the same moment."""
_CHANGES = ("created", "updated", "aliases", "clicks")
"""Counts of what an import changes."""
_RENEWAL = store.LEASE.total_seconds() / 3


class ImportRun:
    """For a source that is checked. Call `start`, then `step` until it returns False, and always `stop`."""

    def __init__(self, deps: Deps, source: Source, import_: Import, holder: str) -> None:
        """`holder`: see `lease.holder`."""
        self._deps = deps
        self._import = import_
        self._account_id = import_.account_id
        self._holder = holder
        self._pipeline = Pipeline(deps, source, import_)
        self._progress = Progress.of(import_)

    @property
    def progress(self) -> tuple[int, int]:
        """Return how much is done and how much there is; 0 if the source does not say."""
        return self._pipeline.count_done(self._progress)

    @property
    def has_begun(self) -> bool:
        return self._progress.has_begun

    async def start(self) -> None:
        """Take the lease. Raises SourceError, ImportRunning, LeaseLost, without a change."""
        await self._pipeline.find_hosts()
        async with self._deps.db.write() as tx:
            current = await lease.take(tx, self._import, self._holder, self._deps.clock())
        self._progress = Progress.of(current)
        await self._keeping_lease(self._pipeline.prepare())
        warnings = {**self._progress.warnings, **self._pipeline.found.warnings}
        self._progress = replace(self._progress, warnings=warnings)

    async def plan_page(self) -> Report:
        """Return what is about to become of the next page. Raises SourceError."""
        plan = await self._keeping_lease(self._pipeline.plan(self._progress))
        after = self._progress.after(plan.done, plan.following, plan.total)
        return Report(self._import.source, after.counts, after.total, to_warnings(after.to_row()["warnings"]))

    async def step(self) -> bool:
        """Import one page. Return False if the import has finished. Raises SourceError, LeaseLost, Unavailable."""
        if self._progress.has_ended:
            return False
        for _ in range(_MAX_PLANS):
            plan = await self._keeping_lease(self._pipeline.plan(self._progress))
            await self._keeping_lease(plan.prepare())
            with suppress(Outdated):
                await self._apply(plan)
                return not self._progress.has_ended
        raise Unavailable("Others change the same slugs at the moment. Run the import again: it continues.")

    async def stop(self, error: Exception | None = None) -> None:
        """Give the lease back. `error`: why the import does not continue now."""
        await self._pipeline.close()
        is_finished, counts = self._progress.has_ended, asdict(self._progress.counts)
        message = error.details if isinstance(error, WaypostError) else type(error).__name__ if error else None
        async with self._deps.db.write() as tx:
            now, transition = self._deps.clock(), states.FINISH if is_finished else states.STOP if error else None
            if await store.release(tx, self._import.id, self._holder) and transition:
                await store.switch(tx, self._import.id, transition, now, message=message)
            if is_finished and any(counts[name] for name in _CHANGES):
                actor = Actor.system(self._account_id, "import")
                await audit.record(tx, actor, "import.finished", now, self._import.item, details=counts)
            if is_finished and await store.find_unchecked(tx, self._account_id, limit=1):
                await jobs.enqueue(tx, CHECK_JOB, {}, now=now, account_id=self._account_id, id_=self._account_id)

    async def _keeping_lease(self, work: Awaitable[T]) -> T:
        """Renew the lease while the source is waited for."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(_RENEWAL)
                async with self._deps.db.write() as tx:
                    await store.renew_lease(tx, self._import.id, self._holder, self._deps.clock())

        renewing = asyncio.create_task(renew())
        try:
            return await work
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _apply(self, plan: PagePlan) -> None:
        """Raises LeaseLost, Outdated."""
        import_id = self._import.id
        async with self._deps.db.write() as tx:
            now = self._deps.clock()
            if not await store.renew_lease(tx, import_id, self._holder, now):
                raise lease.LeaseLost
            await plan.apply(tx)
            await store.add_refusals(tx, import_id, self._progress.counts.refused, plan.done.refused)
            after = self._progress.after(plan.done, plan.following, plan.total)
            await store.save_progress(tx, import_id, now, after.to_row())
        self._progress = after
