"""The application on its own host: some first path segments are the API's, everything else is the dashboard's.

Where the base URL is https, the dashboard is not shown over plain HTTP: whoever came that way is led to where it is,
and what a form sent is refused, since it has been read on the way already. Nobody is led in circles: only who is known
to have come over plain HTTP is led anywhere. A proxy that does not say how its visitors came may have had them come
over HTTPS, so theirs are told what is missing instead.
"""

from collections.abc import Collection, Sequence
from urllib.parse import quote

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kit.proxies import Network
from waypost.web.guard import Came, how_they_came, is_https

_SAFE = {"GET", "HEAD"}
_AS_SENT = "/?#[]@!$&'()*+,;=:%"
PLAIN = "Use HTTPS: this request came over plain HTTP and nothing was done."
UNTRUSTED = (
    "This request came from a proxy that says how its visitor came and that is not trusted to say so."
    " Whoever runs this service names its proxies in WAYPOST_TRUSTED_PROXIES."
)
UNTOLD = (
    "This service is at {base_url}, and this request came over plain HTTP. If you have just asked for that very"
    " address, a proxy in between does not say that you came over HTTPS: whoever runs this service makes it send"
    " X-Forwarded-Proto and names it in WAYPOST_TRUSTED_PROXIES. Else open {base_url}."
)
_LED = {"Cache-Control": "no-store"}
"""A browser that kept it would go on in a circle after the proxy had been mended."""

log = structlog.get_logger(__name__)


class Front:
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
        """`has_tls`: HTTPS is this service's own, so that who comes without a proxy over plain HTTP did so indeed."""
        self.api = api
        self.dashboard = dashboard
        self._api_segments = frozenset(api_segments)
        self._base_url = base_url
        self._needs_https = base_url.startswith("https:")
        self._trusted = trusted
        self._has_tls = has_tls
        self._told: set[str] = set()

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
        came = how_they_came(request, self._trusted)
        if came is Came.DOUBTED:
            return self._refused(UNTRUSTED)
        if came is Came.UNTOLD or (came is Came.DIRECTLY and not self._has_tls):
            return self._refused(UNTOLD.format(base_url=self._base_url))
        if request.method not in _SAFE:
            return PlainTextResponse(PLAIN, 400)
        path, query = request.scope["raw_path"], request.scope["query_string"]
        wanted = path + (b"?" + query if query else b"") if path.startswith(b"/") else b"/"
        return RedirectResponse(self._base_url + quote(wanted, safe=_AS_SENT), 308, _LED)

    def _refused(self, why: str) -> Response:
        """Told to the operator once, too."""
        if why not in self._told:
            log.warning("the dashboard cannot tell whether visitors come over HTTPS", told=why)
        self._told.add(why)
        return PlainTextResponse(why, 400)
