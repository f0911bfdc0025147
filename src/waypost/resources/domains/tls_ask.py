"""What a Caddy beside us asks before it orders a certificate (R25): is this name proven to be somebody's here?

Answered from what redirects are answered from: a new name costs one look-up by index in our own database and is then
remembered a while, in bounded memory.
When it cannot be told, it is no.
"""

from collections.abc import Collection, Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from waypost.kit.errors import NotFound
from waypost.kit.proxies import Network
from waypost.redirect import HostTable
from waypost.redirect.route import MISSING
from waypost.web.peers import for_peers


def routes(hosts: HostTable, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> APIRouter:
    async def answer(request: Request) -> Response:
        """Raises Unavailable when the database is away and the name is not in memory."""
        match request.query_params.getlist("domain"):
            case [name] if await hosts.load(name.lower().removesuffix(".").encode()) is not MISSING:
                return Response(headers={"Cache-Control": "no-store"})
        raise NotFound

    return for_peers("/internal/tls", answer, trusted=trusted, own_hosts=own_hosts)
