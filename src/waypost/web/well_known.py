"""Files below `/.well-known/` of the dashboard's host, for people and programs that look for the policies of a site."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from waypost.kit.clock import Clock
from waypost.web.envelope import JsonResponse

_VALID: Final = timedelta(days=180)
"""RFC 9116 recommends less than a year."""
_GPC: Final = {"gpc": True, "lastUpdate": "2026-11-28"}
"""Of Global Privacy Control. The date is that of the statement: change it when it means something else."""


def routes(base_url: str, contact: str, clock: Clock) -> Sequence[Route]:
    """`contact`: the email address for `security.txt`. Without one, there is none."""

    async def security_txt(_request: Request) -> Response:
        expires = (clock() + _VALID).strftime("%Y-%m-%dT00:00:00Z")
        lines = (
            f"Contact: mailto:{quote(contact, safe='@+')}",
            f"Expires: {expires}",
            f"Canonical: {base_url}/.well-known/security.txt",
        )
        return PlainTextResponse("\n".join([*lines, ""]))

    async def gpc_json(_request: Request) -> Response:
        return JsonResponse(_GPC)

    return [
        Route("/.well-known/gpc.json", gpc_json),
        *([Route("/.well-known/security.txt", security_txt)] if contact else []),
    ]
