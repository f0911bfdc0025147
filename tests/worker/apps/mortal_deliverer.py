"""A process that delivers, and kills itself at a named point once so many attempts are begun; else it ends when done.

The real deliverer and the real way out: the traps are put around their functions from here.
"""

import asyncio
import functools
import os
import signal
import sys
from ipaddress import ip_network
from pathlib import Path

from sqlalchemy import select

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.outbound import Outbound, Poster
from waypost.resources.webhooks import queue
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.worker.loop import WorkerLoop

URL, CA_FILE, KEY, POINT, AFTER = sys.argv[1:]
begun = []


def die_at(point):
    if point == POINT and len(begun) >= int(AFTER):
        os.kill(os.getpid(), signal.SIGKILL)


def dying_before(point, function):
    @functools.wraps(function)
    async def trapped(*arguments, **options):
        die_at(point)
        return await function(*arguments, **options)

    return trapped


def dying_after(point, function):
    @functools.wraps(function)
    async def trapped(*arguments, **options):
        result = await function(*arguments, **options)
        die_at(point)
        return result

    return trapped


class Trapped(Deliverer):
    def on_commit(self, outcomes, claimed):
        begun.extend(each.id for each in claimed)
        die_at("after claim")
        super().on_commit(outcomes, claimed)


async def is_done(db):
    async with db.read() as tx:
        pending = select(webhook_deliveries.c.id).where(webhook_deliveries.c.status == "pending").limit(1)
        return (await tx.execute(pending)).first() is None


async def main():
    db = Database(URL)
    poster = Poster(Outbound(allow=[ip_network("127.0.0.0/8")], ca_file=Path(CA_FILE)))
    post = dying_after("after send", poster.post)
    queue.claim = dying_before("before claim", queue.claim)
    queue.settle = dying_before("before mark", queue.settle)
    deliverer = Trapped(post, KeyRing([KEY]), clock=now, timeout=10, backoff=[0, 0, 0, 0])
    deliverer.max_concurrent = 50
    loop = WorkerLoop(db, deliverer)
    while await loop.step() or not await is_done(db):
        await asyncio.sleep(0)
    await loop.close()
    await poster.close()
    await db.close()


asyncio.run(main())
