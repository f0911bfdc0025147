"""The HTTP-01 challenge endpoint: the certificate authority requests it on any host, without TLS."""

import re

from fastapi import APIRouter
from sqlalchemy import bindparam, select
from starlette.responses import PlainTextResponse, Response

from waypost.database import Database
from waypost.resources.domains.certificates.model import acme_challenges

_FIND = select(acme_challenges.c.answer).where(acme_challenges.c.token == bindparam("token"))
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NO_STORE = {"Cache-Control": "no-store"}


def routes(db: Database) -> APIRouter:
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
