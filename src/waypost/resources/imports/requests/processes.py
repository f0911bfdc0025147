"""Runs turns of imports in processes of their own, `waypost.import_process`.

What a stranger sends is parsed there, within a limit of memory: whatever it does, the worker goes on to deliver
webhooks and to renew certificates.
"""

import asyncio
import signal
from asyncio.subprocess import PIPE, Process

from waypost.resources.imports.model import Import
from waypost.resources.imports.requests.outcome import BUSY, FAILED, Outcome, pause
from waypost.worker.jobs import ProcessDied
from waypost.worker.parent import EXIT_USAGE, child_command

PLACES = 2
"""Turns at the same time, each of another account. A process takes some 100 MB."""
MAX_WAITING = 2
"""Turns that wait for a place. Others come again a second later."""
_MAX_WAIT = 8.0  # seconds
_HAS_LOGGED_WHY = (1, EXIT_USAGE)
"""Exit codes of `child`: an error, or settings that cannot be used."""


class TurnProcesses:
    def __init__(self, app: str) -> None:
        """`app`: see `child.ProcessEntries`."""
        self._app = app
        self._places = asyncio.Semaphore(PLACES)
        self._waiting = 0
        self._running: list[Process] = []
        """The first one was started first."""
        self._asked_to_end: set[Process] = set()

    async def run(self, import_: Import) -> Outcome:
        """Run a turn, or return that there is no place for it. Raises ProcessDied."""
        waits = Outcome(import_.state, import_.message, BUSY, import_.failures)
        if not await self._take_place():
            return waits
        try:
            return await self._run(import_) or waits
        finally:
            self._places.release()

    async def _take_place(self) -> bool:
        if self._waiting >= MAX_WAITING:
            return False
        if self._places.locked():
            self._end_longest()
        self._waiting += 1
        try:
            async with asyncio.timeout(_MAX_WAIT):
                return await self._places.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1

    def _end_longest(self) -> None:
        for process in self._running:
            if process not in self._asked_to_end and process.stdin:
                self._asked_to_end.add(process)
                process.stdin.write(b"\n")  # like the end of the pipe; unlike a signal, it waits until it is read
                return

    async def _run(self, import_: Import) -> Outcome | None:
        """Return None if the process was asked to end and had no time to report anything."""
        # its standard input is a pipe, whose end shows it that this process has exited
        options = ("--parent-pipe", "0", "--app", self._app, "--role", "worker", "--import-id", str(import_.id))
        process = await asyncio.create_subprocess_exec(*child_command("import", *options), stdin=PIPE, stdout=PIPE)
        self._running.append(process)
        try:
            output, _ = await process.communicate()
            was_asked = process in self._asked_to_end
        finally:
            self._running.remove(process)
            self._asked_to_end.discard(process)
            if process.returncode is None:
                process.kill()  # pages are stored one by one, with where the next one begins
                await process.wait()
        if process.returncode == -signal.SIGALRM and was_asked:  # on a machine where its start took long
            return None
        if process.returncode in _HAS_LOGGED_WHY:
            return pause(import_, FAILED)
        if process.returncode != 0:
            raise ProcessDied(f"the process of the import ended with {process.returncode}")
        return Outcome.from_json(output)
