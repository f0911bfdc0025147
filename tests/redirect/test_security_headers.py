"""HSTS on the shared domain alone: the owner of a custom domain decides for that one. `nosniff` on every answer."""

import itertools
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from wire import HOST, LINK, Previews, Routes, Wire, echo, route, serve

from waypost.http.connections import Connections
from waypost.redirect import RedirectState, new_route
from waypost.redirect.asgi import RedirectApp
from waypost.redirect.protocol import protocol_for
from waypost.redirect.state import HSTS

CUSTOM = b"custom.example"
PIXELS = [(UUID(int=1), "facebook", "1234567890")]


@pytest.fixture(params=["fast", "plain"])
async def secure(
    request: pytest.FixtureRequest, state: RedirectState, connections: Connections, previews: Previews
) -> AsyncIterator[Wire]:
    """Where the base URL is https: the fast protocol, and uvicorn's own in front of the same site."""
    state.hsts = [HSTS]
    site = RedirectApp(state, echo, previews.database, lambda _: True)
    http = protocol_for(state, connections) if request.param == "fast" else "httptools"
    async with serve(site, http=http, ws="none") as wire:
        yield wire


@pytest.mark.parametrize("host", [HOST, CUSTOM, b"unknown.example"])
async def test_each_answer_has_security_headers(secure: Wire, source: Routes, host: bytes) -> None:
    source.routes[b"redirected"] = route(host=host)
    source.routes[b"fired"] = new_route(host, "https://example.com/", UUID(LINK.decode()), pixels=PIXELS)
    slugs = (b"redirected", b"fired", b"missing", b"api")
    for method, slug, user_agent in itertools.product((b"GET", b"HEAD"), slugs, (b"Browser", b"Bot")):
        asked = b"%s /%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n" % (method, slug, host, user_agent)
        head = (await secure.say(asked, bodies=method == b"GET")).partition(b"\r\n\r\n")[0].lower()
        assert head.count(b"\r\nx-content-type-options: nosniff") == 1, asked
        assert head.count(b"\r\nstrict-transport-security: max-age=31536000") == (host == HOST), asked


async def test_plain_http_has_no_hsts(fast: Wire, source: Routes) -> None:
    source.routes[b"fired"] = new_route(HOST, "https://example.com/", UUID(LINK.decode()), pixels=PIXELS)
    for slug in (b"hello", b"fired", b"missing", b"api"):
        answer = await fast.say(b"GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (slug, HOST))
        assert b"strict-transport-security" not in answer.lower()
