"""A turn of a requested import: some seconds of it, in a process of its own. `turns` says what happens after it.

A turn that is killed is repeated, and continues after the last page that was stored.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
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
from waypost.resources.imports.preview import Preview
from waypost.resources.imports.requests import store
from waypost.resources.imports.requests.model import ImportRequest, State, import_requests
from waypost.resources.imports.requests.outcome import BUSY, Outcome
from waypost.resources.imports.requests.uploads import Uploads
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import Source, SourceError, SourceOptions
from waypost.resources.imports.sources import open_source

TURN = 20.0
"""Seconds until no further page is begun."""
STEP_LIMIT = 40.0
"""Seconds of a turn, in which its last page must have ended: a job may run for 50, and waits for a place."""
MIN_TURN = 2.0
"""Seconds that a turn has, although others wait."""
LAST_PAGE = 5.0
"""Seconds that a file gets after them, for the page that is read. The answer of a service is not waited for."""
LONGEST_SLEEP = 10.0
"""Seconds. A source that asks for a longer pause gets it between two turns, when others have theirs."""
MAX_UNPACKED = 4 << 30
"""Bytes of an archive, whose checksums are verified in one turn."""
MAX_FAILURES = 10
"""Turns in a row in which nothing could be read: then the import stops."""
_RETRY = timedelta(seconds=10)
_SLOW = "The source takes too long for one page."
BROKEN = "Something went wrong on our side. The administrator finds the reason in the log. Continue to try again."
NO_MEMORY = (
    "This import needs too much memory, and nothing more of it is read. Import a smaller file or one in another format."
)
_NO_TOKEN = "The token cannot be decrypted any more. Give up this import, and start a new one with the token."  # noqa: S105

log = structlog.get_logger(__name__)


class _Pause(Exception):
    def __init__(self, seconds: float, reason: str) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Turn:
    deps: Deps
    uploads: Uploads
    outbound: Outbound
    monotonic: Callable[[], float]
    stop: asyncio.Event
    """Set when the turn has to end soon."""

    async def run(self, request: ImportRequest) -> Outcome:
        """Return what comes next. Raises Unavailable: the turn is then repeated."""
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

    def _outcome_of(self, request: ImportRequest, error: Exception) -> Outcome:
        stopped: State = "plan_stopped" if request.state == "planning" else "stopped"
        match error:
            case _Pause():
                outcome = self._pause(request, stopped, str(error), error.seconds)
            case TimeoutError() if self.stop.is_set():
                outcome = Outcome(request.state, request.message, BUSY, request.failures)
            case TimeoutError():
                outcome = self._pause(request, stopped, _SLOW, 0.0)
            case lease.ImportRunning() | lease.LeaseLost():
                outcome = Outcome(request.state, error.message, _RETRY)
            case SourceError():
                outcome = Outcome(stopped, error.message.replace(str(request.id), request.file_name or "The file"))
            case MemoryError():
                log.warning("import needs too much memory", id=str(request.id), source=request.source)
                outcome = Outcome(stopped, NO_MEMORY)
            case DecryptionFailed():
                outcome = Outcome(stopped, _NO_TOKEN)
            case NotFound():  # the account is being deleted
                outcome = Outcome("given_up")
            case _:
                log.error("import failed unexpectedly", id=str(request.id), source=request.source, exc_info=error)
                outcome = Outcome(stopped, BROKEN)
        return outcome

    def _pause(self, request: ImportRequest, stopped: State, reason: str, seconds: float) -> Outcome:
        """Called when the turn has read nothing. Each such turn in a row doubles the pause."""
        if request.failures + 1 >= MAX_FAILURES:
            return Outcome(stopped, f"{reason} Tried {MAX_FAILURES} times. Continue to try again.")
        delay = timedelta(seconds=max(seconds, min(5.0 * 2**request.failures, 900.0)))
        return Outcome(request.state, f"Waiting: {reason}", delay, request.failures + 1)

    async def _open_source(self, request: ImportRequest) -> Source:
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

    async def _plan(self, request: ImportRequest, source: Source) -> Outcome:
        actor = Actor.from_json(request.account_id, request.actor)
        new = import_service.new_import(self.deps, actor, request.source, self._options(request))
        has_more = await self._steps(request, Preview(self.deps, source, new, request.plan))
        return Outcome("planning" if has_more else "planned")

    async def _import(self, request: ImportRequest, source: Source) -> Outcome:
        import_ = await self._find_import(request)
        if import_.state == "finished":  # the process was killed before it could say so
            return Outcome("done")
        has_more = await self._steps(request, ImportRun(self.deps, source, import_, lease.holder()))
        return Outcome("running" if has_more else "done")

    async def _find_import(self, request: ImportRequest) -> Import:
        if request.import_id:
            import_ = await import_service.get(self.deps.db, request.account_id, request.import_id)
            if import_.state == "finished":
                return import_
        actor, options = Actor.from_json(request.account_id, request.actor), self._options(request)
        import_ = await import_service.create(self.deps, actor, request.source, options)
        if import_.id != request.import_id:
            async with self.deps.db.write() as tx:
                await store.save(tx, request, self.deps.clock(), import_id=import_.id)
        return replace(import_, actor=request.actor)  # who resumed it may be another

    async def _steps(self, request: ImportRequest, run: ImportRun | Preview) -> bool:
        """Return whether there is more to do, in another turn. A fault after the first page ends the turn only."""
        began, pages, ending = self.monotonic(), 0, None
        try:
            async with asyncio.timeout(STEP_LIMIT) as limit:
                ending = asyncio.create_task(self._end(limit, LAST_PAGE if request.file_name else 0.0))
                await run.start()
                has_more = is_active = True
                while has_more and is_active and (not pages or self._has_time(began)):
                    has_more = await run.step()
                    pages += 1
                    is_active = await self._save(request, run)
        except (_Pause, TimeoutError):
            if not pages:
                raise
            has_more = True
        finally:
            if ending:
                ending.cancel()
            await run.stop()  # without the error: whether the import has stopped is decided by the outcome
        return has_more

    async def _save(self, request: ImportRequest, run: ImportRun | Preview) -> bool:
        """Return False if it was given up, or is imported without a plan."""
        values = {"plan": run.to_row()} if isinstance(run, Preview) else {}
        async with self.deps.db.write() as tx:
            return await store.save(tx, request, self.deps.clock(), message=None, **values)

    def _has_time(self, began: float) -> bool:
        return not self.stop.is_set() and self.monotonic() - began < TURN

    async def _end(self, limit: asyncio.Timeout, seconds: float) -> None:
        """`seconds`: for the page that is read."""
        loop = asyncio.get_running_loop()
        earliest = loop.time() + MIN_TURN
        await self.stop.wait()
        limit.reschedule(max(loop.time(), earliest) + seconds)

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
