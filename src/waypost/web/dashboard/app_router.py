"""Routes requests on the application's host: some first path segments to the API, all others to the dashboard.

If the base URL is https, the dashboard redirects plain HTTP to HTTPS, and refuses forms sent over plain HTTP: others
may have read them already. To avoid redirect loops, it redirects only requests that are known to be plain HTTP. A proxy
that does not say how its visitors connect may have received them over HTTPS; its visitors get an explanation instead.
"""

import time
from collections.abc import Collection, Sequence
from urllib.parse import quote

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.http.client_address import Transport, classify_transport, is_https
from waypost.kit.proxies import Network
from waypost.metrics import Histogram

_SAFE = {"GET", "HEAD"}
_API = {"api", "mcp"}
_UNQUOTED = "/?#[]@!$&'()*+,;=:%"
PLAIN = "Use HTTPS: this request came over plain HTTP and nothing was done."
UNTRUSTED = (
    "This request came through a proxy that sends forwarding headers but is not trusted."
    " If you run this service, add the proxy's address to WAYPOST_TRUSTED_PROXIES."
)
UNKNOWN = (
    "This service is at {base_url}, and this request came over plain HTTP. Open {base_url}."
    " If you already use HTTPS, a proxy does not report it: if you run this service, let the proxy send"
    " X-Forwarded-Proto and add its address to WAYPOST_TRUSTED_PROXIES."
)
_NOT_CACHED = {"Cache-Control": "no-store"}
"""A browser that cached the redirect would stay in a redirect loop after the proxy was fixed."""

log = structlog.get_logger(__name__)


_LATENCY = Histogram(
    "waypost_http_request_seconds",
    "Time to the first byte of the response, by kind of request and class of status.",
    ("kind", "status"),
    starts=[(kind, status) for kind in ("api", "page") for status in ("2xx", "3xx", "4xx", "5xx")],
)


def _measured(send: Send, kind: str) -> Send:
    began = time.perf_counter()

    async def send_measured(message: Message) -> None:
        if message["type"] == "http.response.start":
            _LATENCY.observe(time.perf_counter() - began, kind, f"{message['status'] // 100}xx")
        await send(message)

    return send_measured


class AppRouter:
    def __init__(
        self,
        api: ASGIApp,
        dashboard: ASGIApp,
        api_segments: Collection[str],
        *,
        base_url: str,
        trusted: Sequence[Network] = (),
        has_tls: bool = False,
    ) -> None:
        """`has_tls`: this service terminates TLS itself, so a request without a proxy over HTTP is plain HTTP."""
        self.api = api
        self.dashboard = dashboard
        self._api_segments = frozenset(api_segments)
        self._base_url = base_url
        self._needs_https = base_url.startswith("https:")
        self._trusted = trusted
        self._has_tls = has_tls
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        segment = scope["path"][1:].partition("/")[0].lower() if scope["type"] == "http" else ""
        if segment in self._api_segments or scope["type"] != "http":
            await self.api(scope, receive, _measured(send, "api") if segment in _API else send)
            return
        request = Request(scope)
        app: ASGIApp = self.dashboard
        if segment != "static":
            send = _measured(send, "page")
        if self._needs_https and not is_https(request, self._trusted):
            app = self._refuse_plain_http(request)
        await app(scope, receive, send)

    def _refuse_plain_http(self, request: Request) -> Response:
        transport = classify_transport(request, self._trusted)
        if transport is Transport.UNTRUSTED:
            return self._refuse(UNTRUSTED)
        if transport is Transport.UNKNOWN or (transport is Transport.DIRECT and not self._has_tls):
            return self._refuse(UNKNOWN.format(base_url=self._base_url))
        if request.method not in _SAFE:
            return PlainTextResponse(PLAIN, 400)
        path, query = request.scope["raw_path"], request.scope["query_string"]
        target = path + (b"?" + query if query else b"") if path.startswith(b"/") else b"/"
        return RedirectResponse(self._base_url + quote(target, safe=_UNQUOTED), 308, _NOT_CACHED)

    def _refuse(self, reason: str) -> Response:
        """Refuse the request, and log the reason once for the operator."""
        if reason not in self._logged:
            log.warning("dashboard cannot detect HTTPS", reason=reason)
        self._logged.add(reason)
        return PlainTextResponse(reason, 400)
