"""Runs the worker from the settings."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence

import structlog

from waypost.composition import worker_parts
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.memory import release_free_memory
from waypost.redirect import ChangeFeed
from waypost.settings import Settings
from waypost.version import VERSION, built_commit
from waypost.worker import queue_ages
from waypost.worker.loop import WorkerLoop
from waypost.worker.metrics_writer import shared_metrics
from waypost.worker.run import collect_garbage_rarely, work

_RELEASE_INTERVAL = 30.0  # seconds; batches of clicks leave free memory behind

log = structlog.get_logger(__name__)


async def run(settings: Settings, *, sockets: Sequence[socket.socket] = (), stop: asyncio.Event) -> None:
    """Work until `stop` is set and running jobs are done; answer probes on `sockets` in the meantime."""
    async with contextlib.AsyncExitStack() as stack:
        db = Database(settings.database)
        stack.push_async_callback(db.close)
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        parts = worker_parts(settings, db, feed, stack)
        queues = [queue for package in parts for queue in package.queues]
        loops = [WorkerLoop(db, queue) for queue in queues]
        periodic = [step for package in parts for step in package.periodic]
        collect_garbage_rarely()
        ages = queue_ages.QueueAges(db, queues, clock=now)
        periodic += [(queue_ages.INTERVAL, ages.step), (_RELEASE_INTERVAL, _release_memory)]
        log.info("worker started", version=VERSION, commit=built_commit())
        async with (
            shared_metrics(settings.data_dir, "worker", [db.gauges, ages.gauges]),
            asyncio.TaskGroup() as group,
        ):
            if sockets:
                group.create_task(_serve_probes(settings, db, sockets, stop))
            group.create_task(work(db, loops, periodic, stop=stop))


async def _serve_probes(
    settings: Settings, db: Database, sockets: Sequence[socket.socket], stop: asyncio.Event
) -> None:
    # with --role all, web processes answer for the worker, which then loads no server
    from waypost.probes import probe_routes
    from waypost.serving.probe_server import serve_probes

    await serve_probes(probe_routes(settings, db, now, stop.is_set), sockets, stop)


async def _release_memory() -> bool:
    await asyncio.to_thread(release_free_memory)
    return False
