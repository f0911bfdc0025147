"""What the worker runs of imports. Most services never import: their modules are loaded by the first job."""

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.outbound import Outbound
from waypost.redirect import InvalidateRoutes
from waypost.resources.imports.requests.expiry import give_up_unused
from waypost.resources.imports.requests.uploads import new_uploads
from waypost.settings import Settings
from waypost.worker.jobs import Job
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.resources.imports.requests.turns import Turns


def worker_parts(settings: Settings, db: Database) -> WorkerParts:
    uploads = new_uploads(db, settings.data_dir)
    return WorkerParts(periodic=[(3600, partial(give_up_unused, db, uploads, clock=now))])


@dataclass(slots=True)
class TurnHandler:
    """Handles the job of `requests.turns`."""

    settings: Settings
    db: Database
    outbound: Outbound
    invalidate_routes: InvalidateRoutes
    key_ring: KeyRing
    _turns: "Turns | None" = field(default=None, init=False)

    async def __call__(self, job: Job) -> None:
        if self._turns is None:
            self._turns = self._new_turns()
        await self._turns(job)

    async def close(self) -> None:
        if self._turns:
            await self._turns.deps.click_writer.close()

    def _new_turns(self) -> "Turns":
        from waypost.resources.imports.deps import new_deps  # noqa: PLC0415  # see the module's docstring
        from waypost.resources.imports.requests.turns import Turns  # noqa: PLC0415

        deps = new_deps(self.settings, self.db, self.outbound, self.key_ring, self.invalidate_routes)
        return Turns(deps, new_uploads(self.db, self.settings.data_dir), self.outbound, time.monotonic)


@dataclass(frozen=True, slots=True)
class CheckHandler:
    """Handles the job of `destination_checks`."""

    settings: Settings
    db: Database
    outbound: Outbound

    async def __call__(self, job: Job) -> None:
        from waypost.resources.imports.destination_checks import DestinationChecks  # noqa: PLC0415  # as above
        from waypost.resources.links.assembly import new_checker  # noqa: PLC0415

        await DestinationChecks(self.db, new_checker(self.settings, self.outbound), now)(job)
