"""The dashboard's application: pages of the resources, assets, and error pages."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlsplit

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.kit import errors
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.session_auth import NotSignedIn
from waypost.web.dashboard.views import Views
from waypost.web.envelope import headers_of, log_server_error, methods_of, server_error_message, status_of

log = structlog.get_logger()


def new_dashboard(views: Views, assets: Assets, routes: Iterable[BaseRoute]) -> Starlette:
    pages = _ErrorPages(views)
    handlers = {errors.WaypostError: pages.error, HTTPException: pages.http_error}
    return Starlette(
        routes=[assets.route(), *routes],
        exception_handlers=handlers,
        middleware=[Middleware(_ServerErrors, pages=pages)],
    )


class _ErrorPages:
    def __init__(self, views: Views) -> None:
        self._views = views

    async def error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.WaypostError)  # noqa: S101  # registered for these alone
        if isinstance(error, NotSignedIn):
            return _to_sign_in(request)
        if isinstance(error, errors.PaymentRequired) and "hx-request" in request.headers:
            return Response(status_code=204, headers={"HX-Redirect": "/plan"})  # a block of a page cannot show it
        return self.page(request, status_of(error), error.message, headers_of(error))

    async def http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  # registered for these alone
        if error.status_code == 405:
            return await self.error(request, errors.MethodNotAllowed(methods_of(request)))
        message = errors.NotFound().message if error.status_code == 404 else str(error.detail)
        return self.page(request, error.status_code, message, error.headers or {})

    def page(self, request: Request, status: int, message: str, headers: Mapping[str, str]) -> Response:
        page = self._views.page(request, "frame/error.html", status=status, status_code=status, message=message)
        page.headers.update(headers)
        return page


def _to_sign_in(request: Request) -> Response:
    """And then back to the requested page, or to the page of the form that was sent."""
    current = request.headers.get("hx-current-url")  # the page for which htmx requests a block
    path = urlsplit(current).path if current else request.url.path if request.method == "GET" else "/"
    url = "/login" if path == "/" else f"/login?next={quote(path)}"
    if current:
        return Response(status_code=204, headers={"HX-Redirect": url})
    return RedirectResponse(url, 303)


class _ServerErrors:
    """Responds to unexpected errors instead of raising them again, as the API's envelope does."""

    def __init__(self, app: ASGIApp, pages: _ErrorPages) -> None:
        self._app = app
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # the one place for unexpected errors
            error_id = log_server_error(error, scope)
            if not has_begun:
                page = self._pages.page(Request(scope), 500, server_error_message(error_id), {})
                await page(scope, receive, send)
