"""The parts of imports. Processes of their own run imports, so the worker loads little of them."""

from functools import partial
from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.resources.imports import account_data
from waypost.resources.imports.model import CHECK_JOB, TURN_JOB, imports
from waypost.worker.jobs import Again, Job
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.imports.pages import ImportPages
    from waypost.resources.imports.requests.service import Deps
    from waypost.resources.imports.requests.uploads import new_uploads
    from waypost.web import Endpoints

    deps = Deps(**vars(web.context), uploads=new_uploads(web.context.db, web.settings.data_dir))
    return Endpoints(pages=ImportPages(deps, web.auth, web.views).endpoints())


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.imports.requests import turns
    from waypost.resources.imports.requests.expiry import give_up_unused
    from waypost.resources.imports.requests.processes import TurnProcesses
    from waypost.resources.imports.requests.uploads import new_uploads

    db, clock = worker.context.db, worker.context.clock
    uploads = new_uploads(db, worker.settings.data_dir)

    async def check(job: Job) -> Again | None:
        from waypost.resources.imports.destination_checks import DestinationChecks

        return await DestinationChecks(db, worker.destination_checker, clock)(job)

    return WorkerParts(
        periodic=[(3600, partial(give_up_unused, db, uploads, clock=clock))],
        handlers={CHECK_JOB: check, TURN_JOB: turns.Turns(db, uploads, clock, TurnProcesses("waypost.app").run)},
        stops={TURN_JOB: partial(turns.stop, clock=clock)},
    )


RESOURCE = Resource(
    templates={"imports": "waypost.resources.imports"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    exported_rows={"imports.ndjson": account_data.read_imports},
    deleted_rows=[imports],  # with tokens and uploaded rows; files on a disk follow, see `expiry`
)
