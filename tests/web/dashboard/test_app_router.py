"""Which application answers, over what, and how a page ends that something went wrong in."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import SAME_ORIGIN, WebApp, open_place
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from waypost.kit.clock import now
from waypost.kit.errors import RateLimited
from waypost.web.dashboard import Assets, Views, new_dashboard
from waypost.web.dashboard.app_router import PLAIN, UNKNOWN, UNTRUSTED, AppRouter


@pytest.fixture
async def secure(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    """Behind a proxy that is trusted, where the base URL is https."""
    base = {"base_url": "https://app.test", "trusted_proxies": "127.0.0.1/32"}
    async with open_place(database_url, tmp_path, **base) as place:
        yield place


def client(app: Any, base_url: str, peer: str = "127.0.0.1") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(peer, 1)), base_url=base_url)


async def test_redirects_plain_http_to_https(secure: WebApp) -> None:
    said = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"}
    async with client(secure.site, "http://app.test") as plain:
        led = await plain.get("/login?next=%2Flinks%3Fq%3D1", headers=said)
        assert (led.status_code, led.headers["location"]) == (308, "https://app.test/login?next=%2Flinks%3Fq%3D1")
        assert led.headers["cache-control"] == "no-store"
        assert (await plain.get("/", headers=said)).headers["location"] == "https://app.test/"
        refused = await plain.post("/login", data={"email": "a", "password": "b"}, headers=SAME_ORIGIN | said)
        assert (refused.status_code, refused.text) == (400, PLAIN)
        assert (await plain.get("/healthz")).status_code == 200
        proxied = await plain.get("/login", headers={"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"})
        assert proxied.status_code == 200
        assert proxied.headers["strict-transport-security"].startswith("max-age=")
    async with client(secure.site, "http://app.test", "192.0.2.1") as stranger:
        for proto in ("https", "http"):
            believed = await stranger.get("/login", headers={"X-Forwarded-Proto": proto})
            assert (believed.status_code, believed.text) == (400, UNTRUSTED)
    async with client(secure.site, "https://app.test") as direct:
        assert (await direct.get("/login")).status_code == 200


@pytest.mark.parametrize("has_tls", [False, True])
async def test_avoids_redirect_loops_behind_proxies(has_tls: bool) -> None:
    """Through a proxy that does not say how its visitor came: it may have been over HTTPS."""
    known: dict[str, Any] = {
        "base_url": "https://app.test",
        "trusted": [ip_network("127.0.0.1/32")],
        "has_tls": has_tls,
    }
    front, reported = AppRouter(_nothing, _nothing, ["api"], **known), UNKNOWN.format(base_url="https://app.test")
    with capture_logs() as logs:
        for peer, headers in (
            ("127.0.0.1", {}),
            ("127.0.0.1", {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "gopher"}),
            ("192.0.2.1", {"X-Forwarded-For": "192.0.2.2"}),
            ("192.0.2.1", {"Via": "1.1 proxy"}),
        ):
            async with client(front, "http://app.test", peer) as proxied:
                for answer in (await proxied.get("/links", headers=headers), await proxied.post("/x", headers=headers)):
                    assert (answer.status_code, answer.text) == (400, reported)
    assert [each["log_level"] for each in logs] == ["warning"]
    async with client(front, "http://app.test", "192.0.2.1") as direct:
        answer = await direct.get("/links")
        expected = (308, "https://app.test/links") if has_tls else (400, None)
        assert (answer.status_code, answer.headers.get("location")) == expected


async def test_serves_plain_http_if_the_base_url_is_http(database_url: str, tmp_path: Path) -> None:
    async with open_place(database_url, tmp_path) as place:
        nobody = await place.browser()
        page = await nobody.get("/login")
        assert (page.status_code, "strict-transport-security" in page.headers) == (200, False)
        for path in ("/API/v1/me", "/Api/nothing"):
            assert (await nobody.get(path)).json()["error"]["code"] == "not_found"
        assert "<html" in (await nobody.get("/links/nothing/at/all")).text
        other = await nobody.client.put("/login")
        assert (other.status_code, other.headers["allow"]) == (405, "GET, HEAD, POST")


async def _nothing(*_: Any) -> None:
    raise AssertionError


async def _limited(_request: Request) -> PlainTextResponse:
    raise RateLimited(7)


async def _left(_request: Request) -> PlainTextResponse:
    raise ClientDisconnect


async def _broken(_request: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[str]:
        yield "begun"
        raise ValueError("in the middle")

    return StreamingResponse(pieces())


async def test_responds_once_to_an_unexpected_error() -> None:
    assets = Assets()
    views = Views({}, assets, base_url="http://app.test", docs_url="", clock=now)
    routes = [Route("/limited", _limited), Route("/left", _left), Route("/broken", _broken)]
    auth: Any = None  # no page of this test requires a session
    app = new_dashboard(auth, views, assets, routes)
    async with client(app, "http://app.test") as browser:
        limited = await browser.get("/limited")
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "7")

    async def reported(path: str) -> list[str]:
        sent: list[str] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        asgi = {"asgi": {"spec_version": "2.4"}, "scheme": "http", "headers": [], "app": app}
        await app({**scope, **asgi}, receive, send)
        return sent

    with capture_logs() as logs:
        assert await reported("/left") == []
        assert logs == []
        assert (await reported("/broken")).count("http.response.start") == 1
        assert [line["event"] for line in logs] == ["request failed"]
