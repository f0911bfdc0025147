"""Endpoints for obtaining TLS certificates: of Caddy (on-demand TLS, R25) and of a certificate authority (HTTP-01)."""

import re
from collections.abc import Collection, Sequence

from fastapi import APIRouter
from sqlalchemy import bindparam, select
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from waypost.database import Database
from waypost.kit.errors import NotFound
from waypost.kit.proxies import Network
from waypost.redirect import HostTable
from waypost.redirect.route import MISSING
from waypost.resources.domains.model import acme_challenges
from waypost.web.internal import internal_route

_FIND = select(acme_challenges.c.answer).where(acme_challenges.c.token == bindparam("token"))
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NO_STORE = {"Cache-Control": "no-store"}


def ask_endpoint(hosts: HostTable, *, trusted: Sequence[Network], own_hosts: Collection[str] = ()) -> APIRouter:
    """Is this hostname a verified domain of this service?

    Answered from the redirects' host table: a new hostname costs one indexed lookup in our own database, and is then
    cached for a while in bounded memory. Without a definite answer, it is no.
    """

    async def answer(request: Request) -> Response:
        """Raises Unavailable when the database cannot be reached and the hostname is not in memory."""
        match request.query_params.getlist("domain"):
            case [name] if await hosts.load(name.lower().removesuffix(".").encode()) is not MISSING:
                return Response(headers={"Cache-Control": "no-store"})
        raise NotFound

    return internal_route("/internal/tls", answer, trusted=trusted, own_hosts=own_hosts)


def challenge_endpoints(db: Database) -> APIRouter:
    """The certificate authority requests a challenge's answer on any host, without TLS."""
    router = APIRouter(include_in_schema=False)

    @router.get("/.well-known/acme-challenge/{token:path}")
    async def answer(token: str) -> Response:
        """Bare 404 for unknown tokens: it is requested on unknown hosts, too."""
        if not _TOKEN.fullmatch(token):
            return Response(status_code=404)
        async with db.point_read() as tx:
            found = (await tx.execute(_FIND, {"token": token})).scalar_one_or_none()
        return Response(status_code=404) if found is None else PlainTextResponse(found, headers=_NO_STORE)

    return router
