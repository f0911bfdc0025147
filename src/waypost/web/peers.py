"""Paths for the operator's own programs: a Prometheus, a Caddy. To anybody else they are unknown, whatever the verb.

Not only the peer must be trusted but also the name it asks under: a web page whose public name is made to lead here
(DNS rebinding) has its visitors' browsers ask from where they are, under that name.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from ipaddress import ip_address, ip_network

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from waypost.kit.errors import MethodNotAllowed, NotFound
from waypost.kit.proxies import Network, is_trusted, read_forwarded
from waypost.kit.urls import is_public_name

Answer = Callable[[Request], Awaitable[Response]]

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_SIGNS = ("via", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip")
"""Of a proxy in between."""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::[0-9]*)?")


def for_peers(path: str, answer: Answer, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> APIRouter:
    """Answers GET to this machine and to the networks that are `trusted`, under one of `own_hosts` (with or without
    port), an IP address or a name that is not public.
    """
    router = APIRouter(include_in_schema=False)
    router.add_route(path, _ForPeers(answer, trusted, own_hosts), include_in_schema=False)  # type: ignore[arg-type]
    return router


class _ForPeers:
    """An ASGI application and no endpoint: those refuse other verbs, which would tell that the path is known."""

    def __init__(self, answer: Answer, trusted: Sequence[Network], own_hosts: Collection[str]) -> None:
        self._answer = answer
        self._trusted = (*_LOOPBACK, *trusted)
        self._own_names = {_name_of(host) for host in own_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if not (self._is_host_safe(request) and all(is_trusted(each, self._trusted) for each in _way_of(request))):
            raise NotFound
        if request.method != "GET":
            raise MethodNotAllowed(["GET"])
        answer = await self._answer(request)
        await answer(scope, receive, send)

    def _is_host_safe(self, request: Request) -> bool:
        name = _name_of(",".join(request.headers.getlist("host")))
        return name is not None and (name in self._own_names or _is_address(name) or not is_public_name(name))


def is_passed_on(request: Request) -> bool:
    """Whether it bears the sign of a proxy."""
    return any(name in request.headers for name in _SIGNS)


def _name_of(host: str) -> str | None:
    """Without port, brackets and the dot at its end; empty where none was sent, which no browser does."""
    found = _HOST.fullmatch(host.lower())
    return found[1].strip("[]").removesuffix(".") if found else None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


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
