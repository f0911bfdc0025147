"""The application of a process that is watched and nothing else: no API, no dashboard, bare answers."""

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.errors import WaypostError
from waypost.web import envelope


def new_probes() -> FastAPI:
    """Without routes. What is unknown gets a bare 404, as on a host that nobody has."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_exception_handler(HTTPException, _bare)
    app.add_exception_handler(WaypostError, _bare)
    return app


async def _bare(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return Response(status_code=error.status_code, headers=error.headers)
    assert isinstance(error, WaypostError)  # noqa: S101  # registered for these two alone
    return Response(status_code=envelope.answer(error).status_code, headers=envelope.headers_of(error))
