"""Runs requested imports in turns of some seconds, each a job of the queue of long jobs.

After each turn the job of the next one is added behind those of other accounts, so that a long import holds back
nobody. A turn that is killed is claimed again after its lease, and continues after the last page that was stored.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog

from waypost.audit import Actor
from waypost.database import DecryptionFailed
from waypost.kit.errors import NotFound, Unavailable
from waypost.outbound import Outbound
from waypost.resources.imports import lease
from waypost.resources.imports import service as import_service
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import
from waypost.resources.imports.requests import store
from waypost.resources.imports.requests.model import ImportRequest, State, import_requests
from waypost.resources.imports.requests.plans import Plan
from waypost.resources.imports.requests.uploads import Uploads
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.runs import new_run
from waypost.resources.imports.source import Source, SourceError, SourceOptions
from waypost.resources.imports.sources import open_source
from waypost.worker.jobs import Job

TURN = 20.0
"""Seconds until no further page is begun."""
STEP_LIMIT = 45.0
"""Seconds of a turn, in which its last page must have ended: a job may run for 50."""
LONGEST_SLEEP = 10.0
"""Seconds. A source that asks for a longer pause gets it between two turns, when others have theirs."""
MAX_CONCURRENT = 2
"""Turns in this process, so that slots of the queue remain for other jobs."""
MAX_UNPACKED = 4 << 30
"""Bytes of an archive, whose checksums are verified in one turn."""
MAX_FAILURES = 10
"""Turns in a row in which nothing could be read: then the import stops."""
_BUSY = timedelta(seconds=1)
_RETRY = timedelta(seconds=10)
_SLOW = "The source takes too long for one page."
_BROKEN = "Something went wrong on our side. The administrator finds the reason in the log. Continue to try again."
_NO_TOKEN = "The token cannot be decrypted any more. Give up this import, and start a new one with the token."  # noqa: S105

_LOGGED: Mapping[State, str] = {
    "plan_stopped": "import stopped",
    "stopped": "import stopped",
    "done": "import finished",
}
"""States that end a turn. Why an import stopped is on its page only: some sources echo what they were sent."""

log = structlog.get_logger(__name__)


class _Pause(Exception):
    def __init__(self, seconds: float, reason: str) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(slots=True)
class _Outcome:
    """`state`: of the request from now on. Its next turn comes after `delay` if it is still active."""

    state: State
    message: str | None = None
    delay: timedelta = timedelta(0)
    failures: int = 0


@dataclass(slots=True)
class Turns:
    """Handles the job."""

    deps: Deps
    uploads: Uploads
    outbound: Outbound
    monotonic: Callable[[], float]
    _running: int = field(default=0, init=False)

    async def __call__(self, job: Job) -> None:
        request_id = UUID(job.payload["id"])
        async with self.deps.db.read() as tx:
            request = await store.find(tx, request_id)
        if request is None or not request.is_active:
            return
        if self._running >= MAX_CONCURRENT:
            await self._settle(request, _Outcome(request.state, request.message, _BUSY, request.failures))
            return
        self._running += 1
        try:
            outcome = await self._run(request)
        finally:
            self._running -= 1
        await self._settle(request, outcome)

    async def _run(self, request: ImportRequest) -> _Outcome:
        """Return what comes next. Raises Unavailable: the job is then retried."""
        run, source = self._plan if request.state == "planning" else self._import, None
        try:
            source = await self._open_source(request)
            return await run(request, source)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001  # unexpected ones are logged there
            return self._outcome_of(request, error)
        finally:
            if isinstance(source, Archive):
                source.close()

    def _outcome_of(self, request: ImportRequest, error: Exception) -> _Outcome:
        stopped: State = "plan_stopped" if request.state == "planning" else "stopped"
        match error:
            case _Pause():
                outcome = self._pause(request, stopped, str(error), error.seconds)
            case TimeoutError():
                outcome = self._pause(request, stopped, _SLOW, 0.0)
            case lease.ImportRunning() | lease.LeaseLost():
                outcome = _Outcome(request.state, error.message, _RETRY)
            case SourceError():
                outcome = _Outcome(stopped, error.message.replace(str(request.id), request.file_name or "The file"))
            case DecryptionFailed():
                outcome = _Outcome(stopped, _NO_TOKEN)
            case NotFound():  # the account is being deleted
                outcome = _Outcome("given_up")
            case _:
                log.error("import failed unexpectedly", id=str(request.id), source=request.source, exc_info=error)
                outcome = _Outcome(stopped, _BROKEN)
        return outcome

    def _pause(self, request: ImportRequest, stopped: State, reason: str, seconds: float) -> _Outcome:
        """Called when the turn has read nothing. Each such turn in a row doubles the pause."""
        if request.failures + 1 >= MAX_FAILURES:
            return _Outcome(stopped, f"{reason} Tried {MAX_FAILURES} times. Continue to try again.")
        delay = timedelta(seconds=max(seconds, min(5.0 * 2**request.failures, 900.0)))
        return _Outcome(request.state, f"Waiting: {reason}", delay, request.failures + 1)

    async def _open_source(self, request: ImportRequest) -> Source | Archive:
        deadline = self.monotonic() + TURN

        async def wait(seconds: float, reason: str) -> None:
            if seconds > LONGEST_SLEEP or self.monotonic() + seconds > deadline:
                raise _Pause(seconds, reason)
            await asyncio.sleep(seconds)

        async with self.deps.db.read() as tx:
            token = await store.find_token(tx, request.id)
        options = SourceOptions(
            url=None if request.file_name else request.url,
            token=self.deps.key_ring.decrypt(import_requests.c.token, request.id, token) if token else None,
            file=await self.uploads.find(request.id) if request.file_name else None,
            timezone=ZoneInfo(request.timezone) if request.timezone else None,
            site=urlsplit(request.url).hostname if request.file_name and request.url else None,
        )
        source = open_source(request.source, options, self.outbound, wait)
        if isinstance(source, Archive) and source.unpacked_size > MAX_UNPACKED:
            raise SourceError("This file is too large for the dashboard. Ask the administrator to run waypost import.")
        return source

    async def _plan(self, request: ImportRequest, source: Source | Archive) -> _Outcome:
        plan = Plan(**request.plan)
        actor = Actor.from_json(request.account_id, request.actor)
        new = import_service.new_import(self.deps, actor, request.source, self._options(request))
        importer = new_run(self.deps, source, plan.as_import(new), "", is_dry_run=True)

        async def save() -> bool:
            plan.save(importer)
            async with self.deps.db.write() as tx:
                return await store.save(tx, request, self.deps.clock(), plan=asdict(plan), message=None)

        has_more = await self._steps(importer, save)
        return _Outcome("planning" if has_more else "planned")

    async def _import(self, request: ImportRequest, source: Source | Archive) -> _Outcome:
        import_ = await self._find_import(request)
        if import_.state == "finished":  # the process was killed before it could say so
            return _Outcome("done")
        importer = new_run(self.deps, source, import_, lease.holder())

        async def save() -> bool:
            async with self.deps.db.write() as tx:
                return await store.save(tx, request, self.deps.clock(), message=None)

        has_more = await self._steps(importer, save)
        return _Outcome("running" if has_more else "done")

    async def _find_import(self, request: ImportRequest) -> Import:
        if request.import_id:
            import_ = await import_service.get(self.deps, request.account_id, request.import_id)
            if import_.state == "finished":
                return import_
        actor, options = Actor.from_json(request.account_id, request.actor), self._options(request)
        import_ = await import_service.create(self.deps, actor, request.source, options)
        if import_.id != request.import_id:
            async with self.deps.db.write() as tx:
                await store.save(tx, request, self.deps.clock(), import_id=import_.id)
        return replace(import_, actor=request.actor)  # who resumed it may be another

    async def _steps(self, importer: ImportRun, save: Callable[[], Any]) -> bool:
        """Return whether there is more to do, in another turn. A fault after the first page ends the turn only."""
        began, pages, error = self.monotonic(), 0, None
        try:
            async with asyncio.timeout(STEP_LIMIT):
                await importer.start()
                has_more = is_active = True
                while has_more and is_active and (not pages or self.monotonic() - began < TURN):
                    has_more = await importer.step()
                    pages += 1
                    is_active = await save()  # otherwise it was given up, or is imported without a plan
        except (_Pause, TimeoutError):
            if not pages:
                raise
            has_more = True
        except Exception as failure:
            error = failure
            raise
        finally:
            await importer.stop(error)
        return has_more

    async def _settle(self, request: ImportRequest, outcome: _Outcome) -> None:
        """Save the outcome, unless the request was changed during the turn, and add the next turn if there is one."""
        async with self.deps.db.write() as tx:
            current = await store.lock(tx, request.id)
            if current is None:
                return
            state = current.state
            if state == request.state:
                state = outcome.state
                values = {"message": outcome.message, "failures": outcome.failures}
                await store.change(tx, request.id, self.deps.clock(), state=state, **values)
            if state in ("planning", "running"):
                delay = outcome.delay if state == request.state else timedelta(0)
                await store.enqueue_turn(tx, request, self.deps.clock(), delay)
        if state != request.state and state in _LOGGED:
            log.info(_LOGGED[state], id=str(request.id), source=request.source)
        if state in ("done", "given_up"):
            await self.uploads.delete(request.id)

    def _options(self, request: ImportRequest) -> dict[str, Any]:
        """What decides what is imported: an import with other options is another one."""
        shared = self.deps.shared_domain
        return {
            "url": request.url,
            "file": str(request.id) if request.file_name else None,
            "domains": {theirs: ours or shared for theirs, ours in request.domains.items()},
            "clicks": request.has_clicks,
            "timezone": request.timezone,
        }
