"""Internal paths for the operator's own programs, such as Prometheus and Caddy. Others get 404.

The Host header is checked as well as the peer: with DNS rebinding, a web page makes its visitors' browsers send
requests from inside the network under a public name.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from waypost.http.client_address import PROXY_HEADERS
from waypost.kit.errors import MethodNotAllowed, NotFound
from waypost.kit.proxies import LOOPBACK, Network, is_trusted, parse_ip, read_forwarded
from waypost.kit.urls import is_public_name
from waypost.metrics import CONTENT_TYPE, Gauge, render

InternalEndpoint = Callable[[Request], Awaitable[Response]]
Gauges = Callable[[], Awaitable[Sequence[Gauge]]]

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::[0-9]*)?")


def internal_route(
    path: str, endpoint: InternalEndpoint, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()
) -> Route:
    """Return an endpoint for GET from this machine and the `trusted` networks, with a safe Host header: one of
    `own_hosts` (with or without port), an IP address or a name that is not public.
    """
    return Route(path, _InternalRoute(endpoint, trusted, own_hosts))


class _InternalRoute:
    """An ASGI application instead of an endpoint, which would refuse other methods and so reveal the path."""

    def __init__(self, endpoint: InternalEndpoint, trusted: Sequence[Network], own_hosts: Collection[str]) -> None:
        self._endpoint = endpoint
        self._trusted = (*LOOPBACK, *trusted)
        self._own_names = {_read_name(host) for host in own_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if not (self._is_host_safe(request) and all(is_trusted(hop, self._trusted) for hop in _read_hops(request))):
            raise NotFound
        if request.method != "GET":
            raise MethodNotAllowed(["GET"])
        response = await self._endpoint(request)
        await response(scope, receive, send)

    def _is_host_safe(self, request: Request) -> bool:
        name = _read_name(",".join(request.headers.getlist("host")))
        return name is not None and (name in self._own_names or parse_ip(name) is not None or not is_public_name(name))


def _read_name(host: str) -> str | None:
    """Return the name without port, brackets and trailing dot. Empty if none was sent, which no browser does."""
    match = _HOST.fullmatch(host.lower())
    return match[1].strip("[]").removesuffix(".") if match else None


def _read_hops(request: Request) -> list[str]:
    """Return every address that the request claims to have come from or through.

    Otherwise all visitors of an unlisted proxy on this machine would seem local, and a proxy that passes on headers it
    does not know would let visitors choose their address.
    """
    peer = request.client.host if request.client else ""
    headers = {name: ",".join(request.headers.getlist(name)) for name in PROXY_HEADERS if name in request.headers}
    lists = (read_forwarded(headers.get("forwarded", ""))[0], headers.get("x-forwarded-for"), headers.get("x-real-ip"))
    hops = [hop for text in lists if text for hop in text.split(",")]
    return [peer, *(hops or [""] * bool(headers))]


def metrics_route(
    data_dir: Path, gauges: Gauges, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()
) -> Route:
    """Return the endpoint that Prometheus scrapes. `gauges` are read for each request."""

    async def show(_: Request) -> Response:
        content = await asyncio.to_thread(render, data_dir, await gauges())
        return Response(content, media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})

    return internal_route("/metrics", show, trusted=trusted, own_hosts=own_hosts)
