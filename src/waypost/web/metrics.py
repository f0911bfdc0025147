"""What a Prometheus of the operator's reads. To anybody else the path is unknown, whatever the verb."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_network
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from waypost.kit.errors import MethodNotAllowed, NotFound
from waypost.kit.proxies import Network, is_trusted, read_forwarded
from waypost.metrics import CONTENT_TYPE, Gauge, text

Gauges = Callable[[], Awaitable[Sequence[Gauge]]]

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_SIGNS = ("via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip")
"""Of a proxy in between."""


def routes(data_dir: Path, gauges: Gauges, *, trusted: Sequence[Network]) -> APIRouter:
    """`gauges`: what is looked up when somebody asks."""
    router = APIRouter(include_in_schema=False)
    router.add_route("/metrics", _Metrics(data_dir, gauges, trusted), include_in_schema=False)  # type: ignore[arg-type]
    return router


class _Metrics:
    """An ASGI application and no endpoint: those refuse other verbs, which would tell that the path is known."""

    def __init__(self, data_dir: Path, gauges: Gauges, trusted: Sequence[Network]) -> None:
        self._data_dir = data_dir
        self._gauges = gauges
        self._trusted = (*_LOOPBACK, *trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if not all(is_trusted(each, self._trusted) for each in _way_of(request)):
            raise NotFound
        if request.method != "GET":
            raise MethodNotAllowed(["GET"])
        told = await asyncio.to_thread(text, self._data_dir, await self._gauges())
        await Response(told, media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})(scope, receive, send)


def _way_of(request: Request) -> list[str]:
    """Every address that the request is said to have come from or through.

    A proxy on this machine that is not named as trusted would otherwise lend all its visitors its own address, and one
    that passes on a header it does not know, theirs.
    """
    peer = request.client.host if request.client else ""
    named = {name: ",".join(request.headers.getlist(name)) for name in _SIGNS if name in request.headers}
    lists = (read_forwarded(named.get("forwarded", ""))[0], named.get("x-forwarded-for"), named.get("x-real-ip"))
    hops = [hop for each in lists if each for hop in each.split(",")]
    return [peer, *(hops or [""] * bool(named))]
