"""The composition root: runs the processes of `waypost serve` from the settings.

Each process imports late what only its role needs: a redirect process loads no API, a worker no web pages.
"""

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import uvicorn
from starlette.types import ASGIApp

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock, now
from waypost.metrics import Counter, MetricsFile, ReadGauges
from waypost.probes import probe_routes
from waypost.redirect import ChangeFeed, Connections, protocol_for
from waypost.redirect.bounded import IDLE_TIMEOUT, bounded_protocol
from waypost.redirect.state import maintain
from waypost.secret_key import secret_text
from waypost.serving.probes import new_probe_app
from waypost.serving.server import WebServer
from waypost.settings import Settings
from waypost.version import VERSION, built_commit
from waypost.worker import queue_ages
from waypost.worker.loop import WorkerLoop, cancel, every
from waypost.worker.run import collect_garbage_rarely, work

if TYPE_CHECKING:
    import ssl

    from waypost.redirect_app import WebProcess

log = structlog.get_logger(__name__)

_MALFORMED = Counter("waypost_malformed_requests_total", "Requests refused because they were not valid HTTP/1.1.")
_MAX_PROBE_CONNECTIONS = 256  # most descriptors of a worker are for webhook receivers
_SHUTDOWN_TIMEOUT = 12  # seconds for open requests


async def run_web(
    settings: Settings,
    *,
    role: str,
    sockets: list[socket.socket],
    tls_sockets: Sequence[socket.socket] = (),
    stop: asyncio.Event,
    welcome: int | None = None,
    clock: Clock = now,
    time_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Serve until `stop` is set and open requests have their responses.

    `welcome`: file descriptor of the token for the message of the first start.
    """
    async with (
        _open_app(role)(settings, clock=clock, time_ns=time_ns, is_shutting_down=stop.is_set) as web,
        _shared_metrics(settings.data_dir, "redirect" if role == "redirect" else "web", web.read_gauges),
    ):
        tls = await _tls_context(settings, web) if tls_sockets else None
        connections = Connections(count_malformed=_MALFORMED.add)
        server = WebServer(_config(web.app, protocol_for(web.state, connections)), tls, tls_sockets)
        maintenance = asyncio.create_task(maintain(web.state, connections, server.server_state))
        background = [*web.tasks, maintenance]
        serving = asyncio.create_task(server.serve(sockets))
        stopping = asyncio.create_task(server.exit_on(stop))
        short_lived = [stopping, maintenance]
        if welcome is not None:
            short_lived.append(asyncio.create_task(_show_welcome(settings, web.db, welcome, server)))
        gc.freeze()  # imported objects stay: scanning them took 60 ms at each full collection
        gc.set_threshold(5_000, 20, 20)  # a page creates thousands of objects; collecting in between took an eighth
        own = {"base_url": settings.base_url, "shared_domain": settings.shared_domain}
        log.info("serving", role=role, version=VERSION, commit=built_commit(), **own)
        try:
            await asyncio.wait([serving, *background], return_when=asyncio.FIRST_COMPLETED)
            server.should_exit = True
            await serving
            for task in background:
                if task.done():
                    await task  # raises its error: this process ends too, and the parent starts another
        finally:
            await cancel(short_lived)


def _open_app(role: str) -> "Callable[..., AbstractAsyncContextManager[WebProcess]]":
    if role == "redirect":
        from waypost.redirect_app import open_redirect_app

        return open_redirect_app
    from waypost.web_app import open_full_app

    return open_full_app


async def _show_welcome(settings: Settings, db: Database, token: int, server: WebServer) -> None:
    from waypost.resources.account.welcome import show_welcome

    await server.is_accepting.wait()
    await show_welcome(settings, db, token)


async def _tls_context(settings: Settings, web: "WebProcess") -> "ssl.SSLContext":
    from waypost.resources.domains.certificates.listener import tls_context

    return await tls_context(settings, web.db, KeyRing.from_setting(secret_text(settings)), web.tasks)


@contextlib.asynccontextmanager
async def _shared_metrics(data_dir: Path, kind: str, read_gauges: Sequence[ReadGauges]) -> AsyncIterator[None]:
    """Write the metrics of this process for scrapes, once a second and at the end."""
    file, stop = MetricsFile(data_dir, kind, read_gauges), asyncio.Event()
    writing = asyncio.create_task(every(1, partial(asyncio.to_thread, file.write), stop=stop, retry_on=Exception))
    try:
        yield
    finally:
        stop.set()
        await writing
        file.close()


def _config(app: ASGIApp, protocol: type[asyncio.Protocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # web.guard and clicks.intake read them, from trusted proxies only
        timeout_keep_alive=int(IDLE_TIMEOUT),
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
    )


async def run_worker(settings: Settings, *, sockets: Sequence[socket.socket] = (), stop: asyncio.Event) -> None:
    """Work until `stop` is set and running jobs are done; answer probes on `sockets` in the meantime."""
    from waypost.worker_wiring import worker_parts

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
        periodic.append((queue_ages.INTERVAL, ages.step))
        log.info("worker started", version=VERSION, commit=built_commit())
        async with (
            _shared_metrics(settings.data_dir, "worker", [db.gauges, ages.gauges]),
            asyncio.TaskGroup() as group,
        ):
            if sockets:
                probes = new_probe_app(probe_routes(settings, db, now, stop.is_set))
                group.create_task(_serve_probes(probes, sockets, stop))
            group.create_task(work(db, loops, periodic, stop=stop))


async def _serve_probes(app: ASGIApp, sockets: Sequence[socket.socket], stop: asyncio.Event) -> None:
    connections = Connections(max_connections=_MAX_PROBE_CONNECTIONS, count_malformed=_MALFORMED.add)

    async def check() -> None:
        connections.check(time.monotonic())
        await asyncio.to_thread(connections.report)

    server = WebServer(_config(app, bounded_protocol(connections)))
    tasks = [asyncio.create_task(every(1, check)), asyncio.create_task(server.exit_on(stop))]
    try:
        await server.serve(list(sockets))
    finally:
        await cancel(tasks)
