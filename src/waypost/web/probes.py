"""Liveness and readiness, and the application of a process that serves nothing else."""

from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.database import Database
from waypost.database.schema import pending
from waypost.kit.errors import Unavailable, WaypostError
from waypost.redirect.asgi import with_headers
from waypost.redirect.state import NOSNIFF
from waypost.web import envelope


def new_probes() -> FastAPI:
    """Return an application without endpoints. Errors have no body, as on an unknown host."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_middleware(_NoSniff)
    app.add_exception_handler(HTTPException, _bare)
    app.add_exception_handler(WaypostError, _bare)
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
    return Response(status_code=envelope.error_response(error).status_code, headers=envelope.headers_of(error))


def health_endpoints(db: Database, *, is_shutting_down: Callable[[], bool]) -> APIRouter:
    """Probes for load balancers and supervisors. `is_shutting_down`: readiness fails, new requests go elsewhere."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        reasons = ["stopping"] if is_shutting_down() else await _find_problems(db)
        if reasons:
            return JSONResponse({"status": "unavailable", "reasons": reasons}, 503, {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    return router


async def _find_problems(db: Database) -> list[str]:
    try:
        present, newest = await pending(db)
    except Unavailable as error:
        return [error.message]
    return [] if present == newest else ["The database's schema is not current: run `waypost migrate`."]
