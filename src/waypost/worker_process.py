"""Runs the worker from the settings."""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

import structlog

from waypost import mail
from waypost.composition import mail_sender, new_context, new_destination_checker
from waypost.database import Database
from waypost.idempotency import delete_expired
from waypost.kit.clock import now
from waypost.kit.memory import release_free_memory
from waypost.outbound import Poster
from waypost.packages import RESOURCES
from waypost.redirect import ChangeFeed
from waypost.resource import Worker
from waypost.settings import Settings
from waypost.version import log_fields
from waypost.worker import queue_ages
from waypost.worker.jobs import JobRunner
from waypost.worker.loop import WorkerLoop
from waypost.worker.metrics_writer import shared_metrics
from waypost.worker.run import WorkerParts, collect_garbage_rarely, work

_IDLE_INTERVAL = 1.0  # seconds that a retry may be late on SQLite, where what is new is noticed at once
_RELEASE_INTERVAL = 30.0  # seconds; batches of clicks leave free memory behind

log = structlog.get_logger(__name__)


async def run(settings: Settings, *, sockets: Sequence[socket.socket] = (), stop: asyncio.Event) -> None:
    """Work until `stop` is set and running jobs are done; answer probes on `sockets` in the meantime."""
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(Database(settings.database))
        feed = ChangeFeed(settings.data_dir / "run" / "changes")
        stack.callback(feed.close)
        parts = worker_parts(settings, db, feed, stack)
        queues = [queue for package in parts for queue in package.queues]
        loops = [WorkerLoop(db, queue, idle_interval=_IDLE_INTERVAL) for queue in queues]
        periodic = [step for package in parts for step in package.periodic]
        collect_garbage_rarely()
        ages = queue_ages.QueueAges(db, queues, clock=now)
        periodic += [(queue_ages.INTERVAL, ages.step), (_RELEASE_INTERVAL, _release_memory)]
        log.info("worker started", **log_fields())
        async with (
            shared_metrics(settings.data_dir, "worker", [db.gauges, ages.gauges]),
            asyncio.TaskGroup() as group,
        ):
            if sockets:
                group.create_task(_serve_probes(settings, db, sockets, stop))
            group.create_task(work(db, loops, periodic, stop=stop))


def worker_parts(settings: Settings, db: Database, feed: ChangeFeed, stack: AsyncExitStack) -> list[WorkerParts]:
    """Return what the worker runs of all packages, and its runners of jobs."""
    context = new_context(settings, db, feed.publish)
    stack.push_async_callback(context.click_store.close)
    poster = Poster(context.outbound)
    stack.push_async_callback(poster.close)
    checker = new_destination_checker(settings, context.outbound)
    send_mail = mail_sender(settings)
    worker = Worker(
        settings=settings,
        context=context,
        resources=RESOURCES,
        poster=poster,
        send_mail=send_mail,
        destination_checker=checker,
        stack=stack,
    )
    parts = [resource.worker_parts(worker) for resource in RESOURCES if resource.worker_parts]
    parts.append(
        WorkerParts(periodic=[(60, partial(delete_expired, db, now))], handlers={mail.JOB: mail.handler(send_mail)})
    )
    return [WorkerParts(job_runners(parts)), *parts]


def job_runners(parts: Sequence[WorkerParts]) -> list[JobRunner]:
    """Return a runner for each queue of jobs."""
    handlers = {kind: handler for each in parts for kind, handler in each.handlers.items()}
    stops = {kind: stop for each in parts for kind, stop in each.stops.items()}
    return [
        JobRunner(queue, {kind: each for kind, each in handlers.items() if kind.queue == queue}, clock=now, stops=stops)
        for queue in dict.fromkeys(kind.queue for kind in handlers)
    ]


async def _serve_probes(
    settings: Settings, db: Database, sockets: Sequence[socket.socket], stop: asyncio.Event
) -> None:
    # with --role all, web processes answer for the worker, which then loads no server
    from waypost.probes import probe_routes, serve_probes

    await serve_probes(probe_routes(settings, db, now, stop.is_set), sockets, stop)


async def _release_memory() -> bool:
    await asyncio.to_thread(release_free_memory)
    return False
