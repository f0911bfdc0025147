"""What the pages of all resources share.

A subclass has a method for each page, and `endpoints` lists their paths, each with who may use it. If a form is
refused, its page shows the error beside the fields, with its status:

    get("/pixels/new", self.new, "pixels.write"),
    self.form("/pixels/new", self.create, "pixels.write", self.new),

    async def new(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        await self._auth.require_session(request)
        return self._views.form(request, "pixels/new.html", form, error)

    async def create(self, request: Request, session: Session, form: Form) -> Response:
        self._auth.require_active_plan(session)
        await service.create(self._deps, session, …)
        return redirect("/pixels", "pixel-created")
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from waypost.accounts.sessions.store import PersonSession, Session
from waypost.kit.errors import Invalid, PaymentRequired, RateLimited, WaypostError
from waypost.kit.ids import require_id
from waypost.web.dashboard.form_account import ACCESS
from waypost.web.dashboard.forms import BLANK, Form, read_form
from waypost.web.dashboard.session_auth import Access, SessionAuth
from waypost.web.dashboard.views import Views

_MAX_PUBLIC_FORM = 64 << 10

D = TypeVar("D")
PageEndpoint = Callable[[Request], Awaitable[Response]]
FormEndpoint = Callable[[Request, Any, Form], Awaitable[Response]]
"""Gets the session of the `Access`."""
FormPage = Callable[[Request, Form, WaypostError], Awaitable[Response]]


class PageRoute(Route):
    """A route with who may use it, which `SessionAuth.require_session` checks."""

    def __init__(self, path: str, endpoint: PageEndpoint, method: str, access: Access) -> None:
        super().__init__(path, endpoint, methods=[method])
        self.access = access

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ACCESS] = self.access
        await super().handle(scope, receive, send)


def get(path: str, endpoint: PageEndpoint, access: Access) -> PageRoute:
    """Return the route of a page."""
    return PageRoute(path, endpoint, "GET", access)


def post(path: str, endpoint: PageEndpoint, access: Access) -> PageRoute:
    """Return the route of a form."""
    return PageRoute(path, endpoint, "POST", access)


class Pages(ABC, Generic[D]):
    def __init__(self, deps: D, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    @abstractmethod
    def endpoints(self) -> list[Route]: ...

    def form(self, path: str, send: FormEndpoint, access: Access, page: FormPage) -> PageRoute:
        """Return the route of a form. `page` shows it again if `send` refuses it."""

        async def respond(request: Request) -> Response:
            session, form = await self._session(request, access), BLANK
            try:
                form = await read_form(request)
                return await send(request, session, form)
            except (Invalid, PaymentRequired, RateLimited) as error:
                return await page(request, form, error)

        return post(path, respond, access)

    async def _session(self, request: Request, access: Access) -> PersonSession:
        if access == "operator":
            return await self._auth.require_operator(request)
        return await (self._auth.require_person if access == "person" else self._auth.require_session)(request)

    async def _read(self, request: Request) -> tuple[Session, Form]:
        return await self._auth.require_session(request), await read_form(request)

    async def _read_as_person(self, request: Request) -> tuple[PersonSession, Form]:
        return await self._auth.require_person(request), await read_form(request)

    async def _read_public(self, request: Request) -> Form:
        """Read a small form that requires no sign-in."""
        self._auth.require_same_origin(request)
        return await read_form(request, _MAX_PUBLIC_FORM)

    def _path_id(self, request: Request, name: str = "id") -> UUID:
        """Return the id in the path. Raises NotFound if it is not a UUID."""
        return require_id(request.path_params[name])
