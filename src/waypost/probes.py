"""The probes and metrics of every process, and the server of a process that answers nothing else."""

import asyncio
import socket
import time
from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.database import Database
from waypost.database.schema import find_problems
from waypost.http.bounded import bounded_protocol
from waypost.http.connections import Connections
from waypost.http.internal import metrics_route
from waypost.http.server import MALFORMED, WebServer, server_config
from waypost.http.status import headers_of, status_of
from waypost.kit.clock import Clock
from waypost.kit.errors import WaypostError
from waypost.metrics import Gauge
from waypost.redirect.exchange import with_headers
from waypost.redirect.spool_gauges import SpoolGauges
from waypost.redirect.state import NOSNIFF
from waypost.resources.webhooks.metrics import PendingGauges
from waypost.settings import Settings
from waypost.version import VERSION, built_commit, redirect_form
from waypost.worker.loop import cancel, every

_MAX_CONNECTIONS = 256  # most descriptors of a worker are for webhook receivers


def probe_routes(
    settings: Settings, db: Database, clock: Clock, is_shutting_down: Callable[[], bool]
) -> list[BaseRoute]:
    """`is_shutting_down`: readiness fails, new requests go elsewhere."""
    pending = PendingGauges(db, clock=clock)
    labels = {"version": VERSION, "commit": built_commit(), "redirects": redirect_form()}
    build = Gauge("waypost_build_info", "Always 1; the labels have the version and its commit.", 1, labels)
    spool = SpoolGauges(settings.data_dir / "spool", limit=settings.spool_limit_mb << 20)

    async def gauges() -> Sequence[Gauge]:
        return [build, *await pending.gauges(), *await asyncio.to_thread(spool)]

    async def healthz(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def readyz(_request: Request) -> JSONResponse:
        reasons = ["This process is shutting down."] if is_shutting_down() else await find_problems(db)
        if reasons:
            return JSONResponse({"status": "unavailable", "reasons": reasons}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    trusted, own_hosts = settings.trusted_proxies, settings.own_hosts
    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        metrics_route(settings.data_dir, gauges, trusted=trusted, own_hosts=own_hosts),
    ]


def new_probe_app(routes: Sequence[BaseRoute]) -> Starlette:
    """Return an application of these routes. Errors have no body, as on an unknown host."""
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_NoSniff)],
        exception_handlers={HTTPException: _bare, WaypostError: _bare},
    )
    app.router.redirect_slashes = False
    return app


async def serve_probes(routes: Sequence[BaseRoute], sockets: Sequence[socket.socket], stop: asyncio.Event) -> None:
    connections = Connections(max_connections=_MAX_CONNECTIONS, count_malformed=MALFORMED.add)

    async def check() -> None:
        connections.check(time.monotonic())
        await asyncio.to_thread(connections.report)

    server = WebServer(server_config(new_probe_app(routes), bounded_protocol(connections)))
    tasks = [asyncio.create_task(every(1, check)), asyncio.create_task(server.exit_on(stop))]
    try:
        await server.serve(list(sockets))
    finally:
        await cancel(tasks)


class _NoSniff:
    """Adds the header that `redirect.asgi` adds elsewhere: the worker's probes do not pass through it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, with_headers(send, [NOSNIFF]))


async def _bare(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return Response(status_code=error.status_code, headers=error.headers)
    assert isinstance(error, WaypostError)  # noqa: S101  # registered for these two alone
    return Response(status_code=status_of(error), headers=headers_of(error))
