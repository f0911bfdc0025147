"""Liveness and readiness, and the application of a process that serves nothing else."""

from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.database import Database
from waypost.database.schema import SchemaUnknown, is_usable
from waypost.http.status import headers_of, status_of
from waypost.kit.errors import Unavailable, WaypostError
from waypost.redirect.asgi_messages import with_headers
from waypost.redirect.state import NOSNIFF


def new_probe_app(routes: Sequence[BaseRoute]) -> Starlette:
    """Return an application of these routes. Errors have no body, as on an unknown host."""
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_NoSniff)],
        exception_handlers={HTTPException: _bare, WaypostError: _bare},
    )
    app.router.redirect_slashes = False
    return app


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


def health_routes(db: Database, *, is_shutting_down: Callable[[], bool]) -> list[BaseRoute]:
    """Probes for load balancers and supervisors. `is_shutting_down`: readiness fails, new requests go elsewhere."""

    async def healthz(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def readyz(_request: Request) -> JSONResponse:
        reasons = ["This process is shutting down."] if is_shutting_down() else await find_problems(db)
        if reasons:
            return JSONResponse({"status": "unavailable", "reasons": reasons}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


async def find_problems(db: Database) -> list[str]:
    """Return why requests cannot be served, for people. Empty if they can."""
    try:
        is_current = await is_usable(db)
    except (Unavailable, SchemaUnknown) as error:
        return [error.message]
    return [] if is_current else ["The database's schema is not current: run `waypost migrate`."]
