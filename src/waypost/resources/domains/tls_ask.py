"""The ask endpoint of Caddy's on-demand TLS (R25): is this hostname a verified domain of this service?

Answered from the redirects' host table: a new hostname costs one indexed lookup in our own database, and is then cached
for a while in bounded memory. Without a definite answer, it is no.
"""

from collections.abc import Collection, Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.errors import NotFound
from waypost.kit.proxies import Network
from waypost.redirect import HostTable
from waypost.redirect.route import MISSING
from waypost.web.internal import internal_route


def routes(hosts: HostTable, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> APIRouter:
    async def answer(request: Request) -> Response:
        """Raises Unavailable when the database cannot be reached and the hostname is not in memory."""
        match request.query_params.getlist("domain"):
            case [name] if await hosts.load(name.lower().removesuffix(".").encode()) is not MISSING:
                return Response(headers={"Cache-Control": "no-store"})
        raise NotFound

    return internal_route("/internal/tls", answer, trusted=trusted, own_hosts=own_hosts)
