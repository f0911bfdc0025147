"""Endpoints that Caddy (on-demand TLS) and certificate authorities (HTTP-01) request for TLS certificates."""

import re
from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, select
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from waypost.database import Database
from waypost.http.internal import internal_route
from waypost.kit.errors import NotFound
from waypost.kit.proxies import Network
from waypost.redirect import HostTable
from waypost.redirect.route import NO_HOST
from waypost.resources.domains.model import acme_challenges

_FIND = select(acme_challenges.c.key_authorization).where(acme_challenges.c.token == bindparam("token"))
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NO_STORE = {"Cache-Control": "no-store"}


def ask_route(hosts: HostTable, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> Route:
    """Return 200 for a hostname that is a verified domain, otherwise 404.

    Uses the host table of the redirects: a new hostname costs one indexed lookup, and is then cached for a while in
    bounded memory.
    """

    async def respond(request: Request) -> Response:
        """Raises Unavailable if the hostname is not in memory and the database cannot be reached."""
        match request.query_params.getlist("domain"):
            case [name] if await hosts.load(name.lower().removesuffix(".").encode()) is not NO_HOST:
                return Response(headers={"Cache-Control": "no-store"})
        raise NotFound

    return internal_route("/internal/tls", respond, trusted=trusted, own_hosts=own_hosts)


def challenge_route(db: Database) -> Route:
    """Serve the responses to challenges, on any host and without TLS."""

    async def respond(request: Request) -> Response:
        """Return an empty 404 for unknown tokens, which are requested on unknown hosts too."""
        token = request.path_params["token"]
        if not _TOKEN.fullmatch(token):
            return Response(status_code=404)
        async with db.point_read() as tx:
            key_authorization = (await tx.execute(_FIND, {"token": token})).scalar_one_or_none()
        if key_authorization is None:
            return Response(status_code=404)
        return PlainTextResponse(key_authorization, headers=_NO_STORE)

    return Route("/.well-known/acme-challenge/{token:path}", respond)
