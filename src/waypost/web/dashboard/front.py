"""The application on its own host: some first path segments are the API's, everything else is the dashboard's.

Where the base URL is https, the dashboard is not shown over plain HTTP: whoever came that way is led to where it is,
and what a form sent is refused, since it has been read on the way already.
"""

from collections.abc import Collection, Sequence
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kit.proxies import Network
from waypost.web.guard import is_https, says_https

_SAFE = {"GET", "HEAD"}
_AS_SENT = "/?#[]@!$&'()*+,;=:%"
PLAIN = "Use HTTPS: this request came over plain HTTP and nothing was done."
UNTRUSTED = (
    "This request came over plain HTTP, from a proxy that says it was HTTPS and that is not trusted to say so."
    " Whoever runs this service names its proxies in WAYPOST_TRUSTED_PROXIES."
)


class Front:
    def __init__(
        self,
        api: ASGIApp,
        dashboard: ASGIApp,
        api_segments: Collection[str],
        *,
        base_url: str,
        trusted: Sequence[Network] = (),
    ) -> None:
        self.api = api
        self.dashboard = dashboard
        self._api_segments = frozenset(api_segments)
        self._base_url = base_url
        self._needs_https = base_url.startswith("https:")
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        segment = scope["path"][1:].partition("/")[0].lower() if scope["type"] == "http" else ""
        if segment in self._api_segments or scope["type"] != "http":
            await self.api(scope, receive, send)
            return
        request = Request(scope)
        app: ASGIApp = self.dashboard
        if self._needs_https and not is_https(request, self._trusted):
            app = self._instead(request)
        await app(scope, receive, send)

    def _instead(self, request: Request) -> Response:
        if says_https(request):  # to lead there would lead in circles
            return PlainTextResponse(UNTRUSTED, 400)
        if request.method not in _SAFE:
            return PlainTextResponse(PLAIN, 400)
        path, query = request.scope["raw_path"], request.scope["query_string"]
        wanted = path + (b"?" + query if query else b"") if path.startswith(b"/") else b"/"
        return RedirectResponse(self._base_url + quote(wanted, safe=_AS_SENT), 308)
