"""Paths for the operator's own programs: a Prometheus, a Caddy. To anybody else they are unknown, whatever the verb."""

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_network

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from waypost.kit.errors import MethodNotAllowed, NotFound
from waypost.kit.proxies import Network, is_trusted, read_forwarded

Answer = Callable[[Request], Awaitable[Response]]

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_SIGNS = ("via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip")
"""Of a proxy in between."""


def for_peers(path: str, answer: Answer, *, trusted: Sequence[Network]) -> APIRouter:
    """Answers GET to this machine and to the networks that are `trusted`."""
    router = APIRouter(include_in_schema=False)
    router.add_route(path, _ForPeers(answer, trusted), include_in_schema=False)  # type: ignore[arg-type]
    return router


class _ForPeers:
    """An ASGI application and no endpoint: those refuse other verbs, which would tell that the path is known."""

    def __init__(self, answer: Answer, trusted: Sequence[Network]) -> None:
        self._answer = answer
        self._trusted = (*_LOOPBACK, *trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if not all(is_trusted(each, self._trusted) for each in _way_of(request)):
            raise NotFound
        if request.method != "GET":
            raise MethodNotAllowed(["GET"])
        answer = await self._answer(request)
        await answer(scope, receive, send)


def is_passed_on(request: Request) -> bool:
    """Whether it bears the sign of a proxy."""
    return any(name in request.headers for name in _SIGNS)


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
