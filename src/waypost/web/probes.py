"""The application of a process that only serves probes: no API, no dashboard, responses without body."""

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kit.errors import WaypostError
from waypost.redirect.asgi import with_headers
from waypost.redirect.plane import NOSNIFF
from waypost.web import envelope


def new_probes() -> FastAPI:
    """Without routes. Unknown paths get an empty 404, as on an unknown host."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_middleware(_NoSniff)
    app.add_exception_handler(HTTPException, _bare)
    app.add_exception_handler(WaypostError, _bare)
    return app


class _NoSniff:
    """As `redirect.asgi` adds it, which the worker's probes do not pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, with_headers(send, [NOSNIFF]))


async def _bare(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return Response(status_code=error.status_code, headers=error.headers)
    assert isinstance(error, WaypostError)  # noqa: S101  # registered for these two alone
    return Response(status_code=envelope.error_response(error).status_code, headers=envelope.headers_of(error))
