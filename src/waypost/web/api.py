"""The JSON API's application: its endpoints, the error envelope and the OpenAPI document."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from waypost.kit.errors import WaypostError
from waypost.web import envelope
from waypost.web.endpoint import EndpointTable, EventDocs, Group
from waypost.web.guard import Guard


def new_api(
    guard: Guard,
    groups: Sequence[Group],
    routes: Sequence[BaseRoute] = (),
    events: Sequence[EventDocs] = (),
    base_url: str | None = None,
) -> Starlette:
    """Return the application. `routes`: others, which have the same errors."""
    table = EndpointTable(guard, groups)

    @cache
    def document() -> bytes:
        # only when it is requested: an idle process has loaded little
        from waypost.web.openapi.document import describe  # noqa: PLC0415

        return bytes(envelope.JsonResponse(describe(table.endpoints, events, base_url)).body)

    async def openapi_json(_request: Request) -> Response:
        return Response(document(), media_type=envelope.JsonResponse.media_type)

    handlers: dict[Any, Any] = {
        WaypostError: envelope.domain_error,
        HTTPException: envelope.http_error,
    }
    app = Starlette(
        routes=[table, Route("/api/openapi.json", openapi_json), *_FILES, *routes],
        middleware=[
            Middleware(envelope.ServerErrors, respond=lambda _scope, message: envelope.enveloped(500, message)),
        ],
        exception_handlers=handlers,
    )
    app.router.redirect_slashes = False
    return app


async def _robots_txt(_request: Request) -> Response:
    return PlainTextResponse("User-agent: *\nDisallow: /api/\n")


async def _favicon(_request: Request) -> Response:
    return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})


_FILES = (Route("/robots.txt", _robots_txt), Route("/favicon.ico", _favicon))
"""Files that crawlers and browsers request from every host."""
