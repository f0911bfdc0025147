"""A worker process that kills itself at a named point: the real loop over a database that sets the trap."""

import asyncio
import contextlib
import os
import signal
import sys

from sqlalchemy import text

from waypost.database import Database
from waypost.kit import clock
from waypost.worker.jobs import SHORT, JobKind, JobRunner
from waypost.worker.loop import WorkerLoop
from waypost.worker.run import work

URL, POINT = sys.argv[1:]


def die_at(point):
    if point == POINT:
        os.kill(os.getpid(), signal.SIGKILL)


class Trapped(Database):
    """The first write of a run is its claim, the second its mark."""

    writes = 0

    @contextlib.asynccontextmanager
    async def write(self):
        self.writes += 1
        marks = self.writes == 2
        if marks:
            die_at("before mark")
        async with super().write() as tx:
            yield tx
            if marks:
                die_at("while marking")
        die_at("after mark" if marks else "after claim")


async def main():
    plain, stop = Database(URL), asyncio.Event()

    async def note(job):
        die_at("before run")
        async with plain.write() as tx:
            await tx.execute(text("INSERT INTO effects VALUES (:n)"), {"n": job.payload})
        die_at("after run")
        stop.set()

    db = Trapped(URL)
    await work(db, [WorkerLoop(db, JobRunner(SHORT, {JobKind("test.note"): note}, clock=clock.now))], stop=stop)


asyncio.run(main())
