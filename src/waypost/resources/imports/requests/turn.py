"""A turn of a requested import: some seconds of it, in a process of its own. `turns` says what happens after it.

A turn that is killed is repeated, and continues after the last page that was stored.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import structlog

from waypost.database import DecryptionFailed
from waypost.kit.errors import NotFound, Unavailable
from waypost.outbound import Outbound
from waypost.resources.imports import lease, store
from waypost.resources.imports.archive.reader import Archive
from waypost.resources.imports.deps import Deps
from waypost.resources.imports.model import Import, imports
from waypost.resources.imports.preview import Preview
from waypost.resources.imports.requests.outcome import BUSY, FAILED, Outcome, pause
from waypost.resources.imports.requests.uploads import Uploads
from waypost.resources.imports.run import ImportRun
from waypost.resources.imports.source import Source, SourceError, SourceOptions
from waypost.resources.imports.sources import open_source
from waypost.resources.imports.states import stop_of

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
_RETRY = timedelta(seconds=10)
_SLOW = "The source takes too long for one page."
BROKEN = f"{FAILED} Continue to try again."
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

    async def run(self, import_: Import) -> Outcome:
        """Return what comes next."""
        run, source = self._plan if import_.state == "planning" else self._import, None
        try:
            source = await self._open_source(import_)
            return await run(import_, source)
        except Exception as error:  # noqa: BLE001  # unexpected ones are logged there
            return self._outcome_of(import_, error)
        finally:
            if isinstance(source, Archive):
                source.close()

    def _outcome_of(self, import_: Import, error: Exception) -> Outcome:
        stopped = stop_of(import_.state).after
        match error:
            case _Pause():
                outcome = pause(import_, str(error), error.seconds)
            case Unavailable():
                outcome = pause(import_, error.message)
            case TimeoutError() if self.stop.is_set():
                outcome = Outcome(import_.state, import_.message, BUSY, import_.failures)
            case TimeoutError():
                outcome = pause(import_, _SLOW)
            case lease.ImportRunning() | lease.LeaseLost():
                outcome = Outcome(import_.state, error.message, _RETRY)
            case SourceError():
                outcome = Outcome(stopped, error.message.replace(str(import_.id), import_.file_name or "The file"))
            case MemoryError():
                log.warning("import needs too much memory", id=str(import_.id), source=import_.source)
                outcome = Outcome(stopped, NO_MEMORY)
            case DecryptionFailed():
                outcome = Outcome(stopped, _NO_TOKEN)
            case NotFound():  # the account is being deleted
                outcome = Outcome("given_up")
            case _:
                log.error("import failed unexpectedly", id=str(import_.id), source=import_.source, exc_info=error)
                outcome = Outcome(stopped, BROKEN)
        return outcome

    async def _open_source(self, import_: Import) -> Source:
        deadline = self.monotonic() + TURN

        async def wait(seconds: float, reason: str) -> None:
            if seconds > LONGEST_SLEEP or self.monotonic() + seconds > deadline:
                raise _Pause(seconds, reason)
            await asyncio.sleep(seconds)

        url, timezone = import_.options["url"], import_.options["timezone"]
        async with self.deps.db.read() as tx:
            token = await store.find_token(tx, import_.id)
        options = SourceOptions(
            url=None if import_.file_name else url,
            token=self.deps.key_ring.decrypt(imports.c.token, import_.id, token) if token else None,
            file=await self.uploads.find(import_.id) if import_.file_name else None,
            timezone=ZoneInfo(timezone) if timezone else None,
            site=urlsplit(url).hostname if import_.file_name and url else None,
            encoding=import_.options.get("encoding"),
            columns=import_.options.get("columns"),
        )
        source = open_source(import_.source, options, self.outbound, wait)
        if isinstance(source, Archive) and source.unpacked_size > MAX_UNPACKED:
            raise SourceError("This file is too large for the dashboard. Ask the administrator to run waypost import.")
        return source

    async def _plan(self, import_: Import, source: Source) -> Outcome:
        preview = Preview(self.deps, source, import_, import_.plan)
        if not preview.has_begun:
            await preview.describe()
            await self._save(import_, preview)  # people choose other columns also if these cannot be imported
        has_more = await self._steps(import_, source, preview)
        return Outcome("planning" if has_more else "planned")

    async def _import(self, import_: Import, source: Source) -> Outcome:
        has_more = await self._steps(import_, source, ImportRun(self.deps, source, import_, lease.holder()))
        return Outcome("running" if has_more else "done")

    async def _steps(self, import_: Import, source: Source, run: ImportRun | Preview) -> bool:
        """Return whether there is more to do, in another turn. A fault after the first page ends the turn only."""
        began, pages, ending = self.monotonic(), 0, None
        try:
            async with asyncio.timeout(STEP_LIMIT) as limit:
                ending = asyncio.create_task(self._end(limit, LAST_PAGE if import_.file_name else 0.0))
                if not (run.has_begun and isinstance(source, Archive)):  # later turns read the same file
                    await source.check()
                await run.start()
                has_more = is_active = True
                while has_more and is_active and (not pages or self._has_time(began)):
                    has_more = await run.step()
                    pages += 1
                    is_active = await self._save(import_, run)
        except (_Pause, TimeoutError):
            if not pages:
                raise
            has_more = True
        finally:
            if ending:
                ending.cancel()
            await run.stop()  # without the error: whether the import has stopped is decided by the outcome
        return has_more

    async def _save(self, import_: Import, run: ImportRun | Preview) -> bool:
        """Save a plan, as an import saves itself. Return False if it was given up, or is imported without it."""
        if isinstance(run, ImportRun):
            return True
        async with self.deps.db.write() as tx:
            return await store.save_plan(tx, import_.id, self.deps.clock(), run.to_row())

    def _has_time(self, began: float) -> bool:
        return not self.stop.is_set() and self.monotonic() - began < TURN

    async def _end(self, limit: asyncio.Timeout, seconds: float) -> None:
        """`seconds`: for the page that is read."""
        loop = asyncio.get_running_loop()
        earliest = loop.time() + MIN_TURN
        await self.stop.wait()
        limit.reschedule(max(loop.time(), earliest) + seconds)
