"""What the worker runs of imports. Processes of their own run imports, so the worker loads little of them."""

from dataclasses import dataclass
from functools import partial

from waypost.database import Database
from waypost.kit.clock import now
from waypost.outbound import Outbound
from waypost.resources.imports.requests.expiry import give_up_unused
from waypost.resources.imports.requests.processes import TurnProcesses
from waypost.resources.imports.requests.turns import Turns
from waypost.resources.imports.requests.uploads import new_uploads
from waypost.settings import Settings
from waypost.worker.jobs import Job
from waypost.worker.run import WorkerParts


def worker_parts(settings: Settings, db: Database) -> WorkerParts:
    uploads = new_uploads(db, settings.data_dir)
    return WorkerParts(periodic=[(3600, partial(give_up_unused, db, uploads, clock=now))])


def new_turns(settings: Settings, db: Database) -> Turns:
    """Return the handler of the job of `requests.turns`."""
    return Turns(db, new_uploads(db, settings.data_dir), now, TurnProcesses("waypost.app").run)


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
