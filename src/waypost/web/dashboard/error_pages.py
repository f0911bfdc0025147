"""Error pages, and where requests without a session go."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from waypost.http.status import headers_of, status_of
from waypost.kit import errors
from waypost.web.dashboard.htmx import is_fragment_request
from waypost.web.dashboard.page_error import PageError
from waypost.web.dashboard.session_auth import FactorRequired, NoAccount, NotSignedIn, SessionAuth
from waypost.web.dashboard.views import Views
from waypost.web.envelope import methods_of

_MAX_QUERY = 8 << 10
"""Of a page to return to after sign-in. A longer one would not fit into the header of a redirect."""
_TITLES = {402: "Plan not active", 404: "Page not found", 429: "Too many requests"}


class ErrorPages:
    def __init__(self, auth: SessionAuth, views: Views) -> None:
        self._auth = auth
        self._views = views

    async def error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.WaypostError)  # noqa: S101  # registered for these alone
        if isinstance(error, NotSignedIn):
            return _to_sign_in(request)
        if isinstance(error, NoAccount):
            return RedirectResponse("/account/accounts", 303)
        if isinstance(error, FactorRequired):
            return _to_page(request, "/account/required")
        if isinstance(error, errors.PaymentRequired) and is_fragment_request(request):
            return Response(status_code=204, headers={"HX-Redirect": "/plan?done=refused"})  # a fragment cannot show it
        message = error.message
        if isinstance(error, errors.RateLimited):
            message = f"Try again in {error.retry_after} second{'s' * (error.retry_after > 1)}."
        return self._page(request, status_of(error), message, headers_of(error), error)

    async def http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  # registered for these alone
        if error.status_code == 405:
            return await self.error(request, errors.MethodNotAllowed(methods_of(request)))
        await self._auth.peek_session(request)  # the page of signed-in users has the navigation
        message = errors.NotFound().message if error.status_code == 404 else str(error.detail)
        return self._page(request, error.status_code, message, error.headers or {})

    def server_error(self, scope: Scope, message: str) -> Response:
        return self._page(Request(scope), 500, message, {})

    def _page(
        self,
        request: Request,
        status: int,
        message: str,
        headers: Mapping[str, str],
        error: errors.WaypostError | None = None,
    ) -> Response:
        title = "Something went wrong" if status >= 500 else _TITLES.get(status, "Request failed")
        context: dict[str, Any] = {"title": title, "next_step": None, "notice": ""}
        if isinstance(error, PageError):
            context |= {"title": error.title, "next_step": error.next_step}
        page = self._views.render_page(
            request, "frame/error.html", status=status, status_code=status, message=message, **context
        )
        page.headers.update(headers)
        return page


def _to_page(request: Request, path: str) -> Response:
    """Redirect the browser, also if htmx requested a fragment of the page."""
    if is_fragment_request(request):
        return Response(status_code=204, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def _to_sign_in(request: Request) -> Response:
    """Redirect to the sign-in page, which then leads back to the page, or to the page of the form that was sent."""
    current = request.headers.get("hx-current-url")  # the page for which htmx requests a fragment
    page = urlsplit(current or (str(request.url) if request.method == "GET" else "/"))
    path = page.path + (f"?{page.query}" if page.query and len(page.query) <= _MAX_QUERY else "")
    url = "/login" if path == "/" else f"/login?next={quote(path)}"
    if current:
        return Response(status_code=204, headers={"HX-Redirect": url})
    return RedirectResponse(url, 303)
