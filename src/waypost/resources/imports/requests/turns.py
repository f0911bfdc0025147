"""Gives requested imports their turns, each a job of the queue of long jobs, and saves how each went.

After each turn the job of the next one is added behind those of other accounts, so that a long import holds back
nobody.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.resources.imports.requests import store
from waypost.resources.imports.requests.model import ImportRequest, State
from waypost.resources.imports.requests.outcome import Outcome
from waypost.resources.imports.requests.uploads import Uploads
from waypost.worker.jobs import MAX_DEATHS, Job

_LOGGED: Mapping[State, str] = {
    "plan_stopped": "import stopped",
    "stopped": "import stopped",
    "done": "import finished",
}
"""States that end a turn. Why an import stopped is on its page only: some sources echo what they were sent."""
_DIED = (
    f"The process that reads it has died {MAX_DEATHS} times, as it does if it needs too much memory."
    " Start another import with a smaller file, or ask the administrator."
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Turns:
    """Handles the job."""

    db: Database
    uploads: Uploads
    clock: Clock
    run_turn: Callable[[ImportRequest], Awaitable[Outcome]]

    async def __call__(self, job: Job) -> None:
        async with self.db.read() as tx:
            request = await store.find(tx, UUID(job.payload["id"]))
        if request and request.is_active:
            await self._settle(request, await self.run_turn(request))

    async def _settle(self, request: ImportRequest, outcome: Outcome) -> None:
        """Save the outcome, unless the request was changed during the turn, and add the next turn if there is one."""
        async with self.db.write() as tx:
            current = await store.lock(tx, request.id)
            if current is None:
                return
            state = current.state
            if state == request.state:
                state = outcome.state
                values = {"message": outcome.message, "failures": outcome.failures}
                await store.change(tx, request.id, self.clock(), state=state, **values)
            if state in ("planning", "running"):
                delay = outcome.delay if state == request.state else timedelta(0)
                await store.enqueue_turn(tx, request, self.clock(), delay)
        if state != request.state and state in _LOGGED:
            log.info(_LOGGED[state], id=str(request.id), source=request.source)
        if state in ("done", "given_up"):
            await self.uploads.delete(request.id)


async def stop(tx: Tx, job: Job, clock: Clock) -> None:
    """Stop the import whose turn has ended the process several times."""
    request = await store.lock(tx, UUID(job.payload["id"]))
    if request and request.is_active:
        state: State = "plan_stopped" if request.state == "planning" else "stopped"
        await store.change(tx, request.id, clock(), state=state, message=_DIED)
        log.warning("import stopped, because its process died", id=str(request.id), source=request.source)
