"""Drains a spool as `waypost spool drain` does, and kills itself at a named point of the given commit."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from waypost.commands import spool_drain
from waypost.database import Database
from waypost.resources.clicks.intake import drain
from waypost.settings import Settings

URL, DIRECTORY, POINT, NUMBER = sys.argv[1:]
begun = []
"""Commits so far."""
drain._BATCH_BYTES = dict.fromkeys(drain._BATCH_BYTES, 2_000)
commit, record = drain.Drainer._commit, drain.record_events


def die_at(point):
    if point == POINT and len(begun) == int(NUMBER):
        os.kill(os.getpid(), signal.SIGKILL)


async def mortal_commit(self, batch, reached):
    begun.append(batch)
    await commit(self, batch, reached)
    die_at("after commit")


async def mortal_record(*arguments, **options):
    await record(*arguments, **options)
    die_at("in the transaction")


drain.Drainer._commit, drain.record_events = mortal_commit, mortal_record
directory = Path(DIRECTORY)


async def main():
    done = await spool_drain.drain(Settings(data_dir=directory.parent, secret_key="a key"), Database(URL), directory)
    print(done.visits)


asyncio.run(main())
