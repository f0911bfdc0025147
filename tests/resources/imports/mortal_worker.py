"""A worker that runs imports until no job is due, or ends itself with SIGKILL at a page.

Arguments: the settings as JSON, the time, the number of the page, and the point: before it is stored, within, after.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from unittest import mock

from waypost.database import Database, KeyRing
from waypost.resources.imports import deps, work
from waypost.resources.imports.archive import importer
from waypost.resources.imports.requests.model import TURN_JOB
from waypost.resources.imports.run import ImportRun
from waypost.secret_key import secret_text, with_existing_key
from waypost.settings import Settings
from waypost.wiring import outbound_client
from waypost.worker.jobs import JobRunner
from waypost.worker.loop import WorkerLoop

_write, pages = ImportRun._write, 0


@contextlib.asynccontextmanager
async def mortal_write(self: ImportRun, *arguments: Any) -> AsyncIterator[Any]:
    global pages  # noqa: PLW0603  # of this process
    pages += 1
    die_at("before")
    async with _write(self, *arguments) as tx:
        yield tx
        die_at("within")
    die_at("after")


def die_at(point: str) -> None:
    if (pages, point) == (int(sys.argv[3]), sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    settings, at = with_existing_key(Settings(**json.loads(sys.argv[1]))), datetime.fromisoformat(sys.argv[2])
    db, ring = Database(settings.database_url), KeyRing.from_setting(secret_text(settings))
    handler = work.TurnHandler(settings, db, outbound_client(settings), lambda _: None, ring)
    loop = WorkerLoop(db, JobRunner({TURN_JOB: handler}, clock=lambda: at))
    while await loop.step():
        pass
    await handler.close()
    await db.close()


with (
    mock.patch.object(deps, "now", return_value=datetime.fromisoformat(sys.argv[2])),
    mock.patch.object(importer, "_LINKS_AT_ONCE", 2),
    mock.patch.object(importer, "_CLICKS_AT_ONCE", 50),
    mock.patch.object(ImportRun, "_write", mortal_write),
):
    asyncio.run(main())
