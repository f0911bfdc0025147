"""The JSON API's application: FastAPI with our error envelope and OpenAPI document."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from waypost.version import VERSION
from waypost.web import idempotency
from waypost.web.endpoint import Endpoint, EndpointTable
from waypost.web.envelope import JsonResponse, install_envelope

PREFIX = "/api/v1"


class EventDocs(NamedTuple):
    """An event that webhooks receive, for the OpenAPI document."""

    type: str
    model: Any
    """Of the body of the request."""
    description: str
    changes: Mapping[str, Any] = {}
    """Of `data` in the example, compared with that of its model."""


class Endpoints(NamedTuple):
    """The HTTP endpoints of one package, and its events."""

    api: Sequence[APIRouter] = ()
    pages: Sequence[BaseRoute] = ()
    events: Sequence[EventDocs] = ()
    before_framework: Callable[[ASGIApp], ASGIApp] | None = None
    """Returns an application that answers some requests itself, and passes all others on."""


class _Api(FastAPI):
    document: bytes | None = None
    """The OpenAPI document, once it was requested."""

    def add(self, router: APIRouter) -> None:
        """Use the routes as they are, while `include_router` would make each a second time."""
        self.router.routes.extend(router.routes)


def _operation_id(route: APIRoute) -> str:
    """Return the name of the function in generated clients, such as `links_create`."""
    return "_".join([*map(str, route.tags), route.name.rstrip("_")])


def new_api(base_url: str | None = None, events: Sequence[EventDocs] = ()) -> _Api:
    """Return the application without endpoints; the composition root adds them."""
    app = _Api(
        title="Waypost",
        version=VERSION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # unused; otherwise each request asks for them
    )
    app.router.middleware_stack = EndpointTable(app.routes, app.router.app)
    idempotency.install_idempotency(app)
    install_envelope(app)
    app.add(_files())

    async def openapi_json(_request: Request) -> Response:
        if app.document is None:
            app.document = _describe(app, base_url, events)
        return Response(app.document, media_type=JsonResponse.media_type)

    app.add_route("/api/openapi.json", openapi_json, include_in_schema=False)
    return app


def _describe(app: _Api, base_url: str | None, events: Sequence[EventDocs]) -> bytes:
    # only when it is requested: an idle process has loaded little
    from waypost.web.openapi.document import describe  # noqa: PLC0415

    endpoints = [route for route in app.routes if isinstance(route, Endpoint) and route.include_in_schema]
    return bytes(JsonResponse(describe(endpoints, events, base_url)).body)


def new_router(tag: str, path: str = "") -> APIRouter:
    """Return a router for endpoints of the API below `path`, which `new_api().add` takes.

    The operation id of an endpoint is the tag and the name of its function. Clients name their methods after it.
    """
    return APIRouter(
        prefix=f"{PREFIX}{path}",
        tags=[tag],
        # naming a default also keeps FastAPI from documenting a 422 wherever a path has a parameter
        responses=error_responses("default"),
        route_class=Endpoint,
        generate_unique_id_function=_operation_id,
    )


def error_responses(*statuses: int | str) -> dict[int | str, dict[str, Any]]:
    """Return `responses=` of an endpoint, in addition to those that its dependencies imply."""
    return {status: {} for status in statuses}


def _files() -> APIRouter:
    """Files that crawlers and browsers request from every host."""
    router = APIRouter(include_in_schema=False)

    @router.get("/robots.txt")
    async def robots_txt() -> PlainTextResponse:
        return PlainTextResponse("User-agent: *\nDisallow: /api/\n")

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})

    return router
