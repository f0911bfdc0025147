"""Gives requested imports their turns, each a job of the queue of long jobs, and saves how each went.

After each turn the job runs again behind those of other accounts, so that a long import holds back nobody.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.resources.imports import store
from waypost.resources.imports.model import Import
from waypost.resources.imports.requests.outcome import Outcome
from waypost.resources.imports.requests.uploads import Uploads
from waypost.resources.imports.states import ACTIVE, ENDED, State, Transition, stop_of
from waypost.worker import jobs
from waypost.worker.jobs import MAX_DEATHS, Again, Job

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
    run_turn: Callable[[Import], Awaitable[Outcome]]

    async def __call__(self, job: Job) -> Again | None:
        async with self.db.read() as tx:
            import_ = await store.find(tx, UUID(job.payload["id"]))
        if import_ and import_.is_active:
            return await self._settle(job, import_, await self.run_turn(import_))
        return None

    async def _settle(self, job: Job, import_: Import, outcome: Outcome) -> Again | None:
        """Save the outcome, unless the state was changed during the turn, and return the next turn if there is one."""
        async with self.db.write() as tx:
            current = await store.lock(tx, import_.id) if await jobs.lock(tx, job) else None
            if current is None:
                return None
            state, now = current.state, self.clock()
            if state == import_.state:
                state, values = outcome.state, {"message": outcome.message, "failures": outcome.failures}
                await store.switch(tx, import_.id, Transition((import_.state,), state), now, **values)
        if state != import_.state and state in _LOGGED:
            log.info(_LOGGED[state], id=str(import_.id), source=import_.source)
        if state in ENDED:
            await self.uploads.delete(import_.id)
        if state not in ACTIVE:
            return None
        return Again(now + outcome.delay if state == import_.state else now)


async def stop(tx: Tx, job: Job, clock: Clock) -> None:
    """Stop the import whose turn has ended the process several times."""
    import_ = await store.lock(tx, UUID(job.payload["id"]))
    if import_ and await store.switch(tx, import_.id, stop_of(import_.state), clock(), message=_DIED):
        log.warning("import stopped, because its process died", id=str(import_.id), source=import_.source)
