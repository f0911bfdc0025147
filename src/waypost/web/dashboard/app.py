"""The dashboard's application: pages of the resources, what they load, and errors as HTML."""

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
from waypost.web.envelope import STATUSES, headers_of, log_unforeseen, methods_of

log = structlog.get_logger()


def new_dashboard(views: Views, assets: Assets, routes: Iterable[BaseRoute]) -> Starlette:
    told = _Told(views)
    handlers = {errors.WaypostError: told.error, HTTPException: told.http_error}
    return Starlette(
        routes=[assets.route(), *routes],
        exception_handlers=handlers,
        middleware=[Middleware(_Unforeseen, views=views)],
    )


class _Told:
    """What went wrong, as a page."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.WaypostError)  # noqa: S101  # registered for these alone
        if isinstance(error, NotSignedIn):
            return _to_sign_in(request)
        if isinstance(error, errors.PaymentRequired) and "hx-request" in request.headers:
            return Response(status_code=204, headers={"HX-Redirect": "/plan"})  # a part of a page could not say it
        status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
        return self._page(request, status, error.message, headers_of(error))

    async def http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  # registered for these alone
        if error.status_code == 405:
            return await self.error(request, errors.MethodNotAllowed(methods_of(request)))
        message = errors.NotFound().message if error.status_code == 404 else str(error.detail)
        return self._page(request, error.status_code, message, error.headers or {})

    def _page(self, request: Request, status: int, message: str, headers: Mapping[str, str]) -> Response:
        page = self._views.page(request, "frame/error.html", status=status, status_code=status, message=message)
        page.headers.update(headers)
        return page


def _to_sign_in(request: Request) -> Response:
    """And back to the page that was asked for; to the one before a form, where that has kept what was typed."""
    shown = request.headers.get("hx-current-url")  # of the page that htmx asks for a part of
    way = urlsplit(shown).path if shown else request.url.path if request.method == "GET" else "/"
    url = "/login" if way == "/" else f"/login?next={quote(way)}"
    if shown:
        return Response(status_code=204, headers={"HX-Redirect": url})
    return RedirectResponse(url, 303)


class _Unforeseen:
    """Answers instead of raising on, as the API's envelope does."""

    def __init__(self, app: ASGIApp, views: Views) -> None:
        self._app = app
        self._views = views

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
        except Exception as error:  # noqa: BLE001  # the one place that answers for whatever was not foreseen
            number = log_unforeseen(error, scope)
            if has_begun:
                return
            told = self._views.page(
                Request(scope),
                "frame/error.html",
                status=500,
                status_code=500,
                message=f"Something went wrong on our side. The error's number is {number}.",
            )
            await told(scope, receive, send)
