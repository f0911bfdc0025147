"""Endpoints of the API, called without the parts of FastAPI that they don't use: those took as long as the rest.

The framework solves dependencies, validates, and serializes for every request. Our dependencies read the request
themselves and endpoints return responses, so calling one after the other does the same. `RouteTable` finds such an
endpoint by the shape of its path, instead of comparing the path with every route in turn.
"""

import inspect
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

_Argument = tuple[str, str]
"""Name of a parameter of the function, and its name in the path."""
_Call = tuple[str, Callable[..., Awaitable[Any]], str | None, Sequence[_Argument]]
"""Name of the result, the dependency, and its parameters: of the request, and those from the path."""


class Endpoint(APIRoute):
    """An endpoint that returns a response itself. The OpenAPI document alone needs the model of its content."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, response_model: Any, **options: Any) -> None:
        super().__init__(path, endpoint, response_model=None, **options)
        self.model = response_model
        self.is_direct = _is_simple(self.dependant)
        if self.is_direct:
            self.app = _direct_app(self.dependant)


class EndpointTable:
    """Calls the first route that matches, as the router does. The router gets requests for which there is none."""

    def __init__(self, routes: Sequence[BaseRoute], router: ASGIApp) -> None:
        """`routes` may grow until the first request."""
        self._routes = routes
        self._router = router
        self._by_shape: dict[tuple[int, str], list[Route]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._by_shape is None:
            self._by_shape = _by_shape(self._routes)
        for route in self._by_shape.get(_shape(scope["path"]), ()) if scope["type"] == "http" else ():
            match, matched = route.matches(scope)
            if match is Match.FULL:
                scope.update(matched)
                await route.handle(scope, receive, send)
                return
        await self._router(scope, receive, send)


def _by_shape(routes: Sequence[BaseRoute]) -> dict[tuple[int, str], list[Route]]:
    """Return the routes, in order. Those that only the router finds, such as `{path:path}`, are not requested often."""
    found: dict[tuple[int, str], list[Route]] = defaultdict(list)
    for route in routes:
        if isinstance(route, Route):
            found[_shape(route.path)].append(route)
    return dict(found)


def _shape(path: str) -> tuple[int, str]:
    """Return the number of segments, and the resource: the segment after the version."""
    segments = path.split("/", 4)
    return path.count("/"), segments[3] if len(segments) > 3 else ""


def _is_simple(endpoint: Dependant) -> bool:
    """Return whether the endpoint and its dependencies take only the request, text of the path, and each other."""
    calls = [each.call for each in endpoint.dependencies]
    return (
        all(_takes_request(each) for each in (endpoint, *endpoint.dependencies))
        and not any(each.dependencies for each in endpoint.dependencies)
        and len({id(call) for call in calls}) == len(calls)  # the framework would call one once
    )


def _takes_request(dependant: Dependant) -> bool:
    used = (
        *(dependant.query_params, dependant.header_params, dependant.cookie_params, dependant.body_params),
        *(dependant.websocket_param_name, dependant.http_connection_param_name, dependant.response_param_name),
        *(dependant.background_tasks_param_name, dependant.security_scopes_param_name),
    )
    of_path = [each.field_info for each in dependant.path_params]
    is_text = all(each.annotation is str and not each.metadata for each in of_path)
    return not any(used) and is_text and _is_async(dependant.call)


def _is_async(call: Any) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004


def _direct_app(endpoint: Dependant) -> ASGIApp:
    dependencies, (_, respond, request_name, of_path) = [_call(each) for each in endpoint.dependencies], _call(endpoint)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request, found = Request(scope, receive, send), scope["path_params"]
        values: dict[str, Any] = {}
        for name, call, own_request, own_path in dependencies:
            values[name] = await call(**_arguments(request, found, own_request, own_path))
        response: Response = await respond(**values, **_arguments(request, found, request_name, of_path))
        await response(scope, receive, send)

    return app


def _call(dependant: Dependant) -> _Call:
    assert dependant.call is not None  # noqa: S101  # every dependency of ours is a function
    of_path = [(each.name, each.alias) for each in dependant.path_params]
    return dependant.name or "", dependant.call, dependant.request_param_name, of_path


def _arguments(
    request: Request, found: dict[str, Any], request_name: str | None, of_path: Sequence[_Argument]
) -> dict[str, Any]:
    arguments: dict[str, Any] = {name: found[alias] for name, alias in of_path}
    if request_name:
        arguments[request_name] = request
    return arguments
