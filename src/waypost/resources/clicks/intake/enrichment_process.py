"""A process that enriches batches while there is a backlog for PostgreSQL or ClickHouse, as `python -m` of this module.

Python computes on one core only: the worker sends batches to the server while this process enriches the next ones. The
worker does without it where there is no backlog, and where it fails.
"""

import asyncio
import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import IO

import structlog

from waypost.kit.memory import usable_memory
from waypost.resources.clicks.intake.enrich import Enriched, Work, enrich
from waypost.resources.clicks.intake.steps import IntakeSettings
from waypost.visitors import countries
from waypost.worker.run import collect_garbage_rarely

log = structlog.get_logger(__name__)

_MIN_MEMORY = 2 << 30  # bytes of the machine: the process uses 100 MB
_BACKLOG = 8
"""Full batches in a row until the process starts: some 120,000 visits. It starts in half a second of processor time."""
_READY = b"\n"


class EnrichmentProcess:
    def __init__(self, settings: IntakeSettings, geoip_database: Path | None, *, backlog: int = _BACKLOG) -> None:
        """`geoip_database`: what `settings.country_of_address` reads."""
        self._settings = settings
        self._geoip_database = geoip_database
        self._backlog = backlog
        self._full_batches = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._is_answering = False
        self._asking = Lock()  # a cancelled call goes on in its thread

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def is_ready(self) -> bool:
        """Whether it has started. Never waits."""
        if self._process and not self._is_answering and _has_output(self._process):
            self._is_answering = _output(self._process).read(1) == _READY
            if not self._is_answering:
                self._fail()
        return self._is_answering

    async def enrich(self, work: Work, *, is_full: bool) -> Enriched:
        """`is_full`: whether the batch is as large as batches may be, so that more visits wait."""
        self._full_batches = self._full_batches + 1 if is_full else 0
        if not self._full_batches:
            await self.close()
        elif self._full_batches == self._backlog and _can_afford_it():
            self._start()
        if self.is_ready() and self._process:
            try:
                return await asyncio.to_thread(self._ask, self._process, work)
            except (OSError, EOFError, pickle.UnpicklingError):
                self._fail()
        return await asyncio.to_thread(enrich, work, self._settings)

    async def close(self) -> None:
        if process := self._forget():
            await asyncio.to_thread(_end, process)

    def _start(self) -> None:
        command = [sys.executable, "-P", "-m", __name__]
        self._process = subprocess.Popen(  # noqa: S603  # our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        settings = replace(self._settings, country_of_address=str)  # a function that cannot be sent
        with contextlib.suppress(OSError):  # then it does not get ready
            pickle.dump((settings, self._geoip_database), _input(self._process))
            _input(self._process).flush()

    def _ask(self, process: subprocess.Popen[bytes], work: Work) -> Enriched:
        with self._asking:
            pickle.dump(work, _input(process), pickle.HIGHEST_PROTOCOL)
            _input(process).flush()
            enriched: Enriched = pickle.load(_output(process))  # noqa: S301  # of our own process
        return enriched

    def _fail(self) -> None:
        """Go on without it until the next backlog. The worker enriches the batch, and logs what is wrong with it."""
        if process := self._forget():
            _end(process)
            log.warning("enrichment process ended", status=process.returncode)

    def _forget(self) -> subprocess.Popen[bytes] | None:
        process, self._process, self._is_answering = self._process, None, False
        return process


def _can_afford_it() -> bool:
    return len(os.sched_getaffinity(0)) > 1 and usable_memory() >= _MIN_MEMORY


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # it has nothing that could be lost
    for stream in (_input(process), _output(process)):
        with contextlib.suppress(OSError):  # unwritten work
            stream.close()
    process.wait()


def _has_output(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has written, or has ended."""
    poll = select.poll()
    poll.register(_output(process), select.POLLIN)
    return bool(poll.poll(0))


def _input(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101  # it was opened with a pipe
    return process.stdin


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None  # noqa: S101  # see above
    return process.stdout


def main() -> None:
    """Answer until the worker closes its end of the pipe: the kernel does it even after `kill -9`."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # of a whole group: the worker may still wait for an answer
    work, answers = sys.stdin.buffer, sys.stdout.buffer
    sent, geoip_database = pickle.load(work)  # noqa: S301  # of our own process
    settings = replace(sent, country_of_address=countries.open_countries(geoip_database).of)
    collect_garbage_rarely()
    answers.write(_READY)
    answers.flush()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            pickle.dump(enrich(pickle.load(work), settings), answers, pickle.HIGHEST_PROTOCOL)  # noqa: S301  # see above
            answers.flush()


if __name__ == "__main__":
    main()
