"""What the pages of all resources share.

A subclass has a method for each page, and `endpoints` lists their paths, each with who may use it. If a form is
refused, its page shows the error beside the fields, with its status. A page that only `shows` something, and an
`action` that only calls a verb, need no method:

    self.get("/pixels/new", self.new, "pixels.write"),
    self.form("/pixels/new", self.create, "pixels.write", self.new),
    self.get("/pixels/{id}/delete", shows("pixels/delete.html", self._find), "pixels.write"),
    self.action("/pixels/{id}/delete", service.delete, "pixels.write", "/pixels", "pixel-deleted"),

    async def new(self, call: PageCall) -> Response:
        return call.render("pixels/new.html")

    async def create(self, call: PageCall) -> Response:
        self._auth.require_active_plan(call.session)
        await service.create(self._deps, call.session, *parse(NewPixel, call.form.fields))
        return redirect("/pixels", "pixel-created")
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.sessions.store import PersonSession
from waypost.kit.errors import Invalid, PaymentRequired, PreconditionFailed, RateLimited
from waypost.web.dashboard.edit_form import EditForm
from waypost.web.dashboard.notices import redirect
from waypost.web.dashboard.page_call import PageCall
from waypost.web.dashboard.session_auth import Access, SessionAuth
from waypost.web.dashboard.views import Views

D = TypeVar("D")

PageFunction = Callable[[PageCall], Awaitable[Response]]
ContextFunction = Callable[[PageCall], Awaitable[Mapping[str, Any]]]


def shows(template: str, find: ContextFunction | None = None, **context: Any) -> PageFunction:
    """Return a page that only renders a context, and what `find` returns."""

    async def page(call: PageCall) -> Response:
        return call.render(template, **context, **(await find(call) if find else {}))

    return page


class PageRoute(Route):
    """A route with who may use it."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[[Request], Awaitable[Response]],
        method: str,
        access: Access,
        edit: EditForm | None = None,
    ) -> None:
        super().__init__(path, endpoint, methods=[method])
        self.access = access
        self.edit = edit


class Pages(ABC, Generic[D]):
    def __init__(self, deps: D, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    @abstractmethod
    def endpoints(self) -> list[Route]: ...

    def get(self, path: str, page: PageFunction, access: Access) -> PageRoute:
        """Return the route of a page."""

        async def respond(request: Request) -> Response:
            return await page(await self._call(request, access))

        return PageRoute(path, respond, "GET", access)

    def form(
        self,
        path: str,
        send: PageFunction,
        access: Access,
        page: PageFunction | None = None,
        *,
        edit: EditForm | None = None,
        read: Callable[[PageCall], Awaitable[PageCall]] = PageCall.read,
    ) -> PageRoute:
        """Return the route of a form. `page` shows it again if `send` refuses it.

        `edit`: of what it edits. If somebody else has changed that, both versions are shown.
        """

        async def respond(request: Request) -> Response:
            call = await self._call(request, access)
            try:
                call = await read(call)
                return await send(call.expecting(edit) if edit else call)
            except PreconditionFailed:
                if edit is None:
                    raise
                stored = await edit.find(self._deps, call.session, call.id)
                names = await edit.all_names(self._deps, call.session, stored, call.form)
                return call.show_conflict(edit, stored, names)
            except (Invalid, PaymentRequired, RateLimited) as error:
                if page is None:
                    raise
                return await page(call.refused(error))

        return PageRoute(path, respond, "POST", access, edit)

    def post(self, path: str, send: PageFunction, access: Access) -> PageRoute:
        """Return the route of a button. What its form has besides is not read."""

        async def respond(request: Request) -> Response:
            return await send(await self._call(request, access))

        return PageRoute(path, respond, "POST", access)

    def action(
        self, path: str, verb: Callable[..., Awaitable[object]], access: Access, then: str, notice: str = ""
    ) -> PageRoute:
        """Return the route of a button that calls a verb with the ids in the path, and leads to the path `then`."""

        async def send(call: PageCall) -> Response:
            ids = [call.path_id(name) for name in call.request.path_params]
            await verb(self._deps, call.session, *ids)
            return redirect(then.format(**call.request.path_params), notice)

        return self.form(path, send, access)

    async def _call(self, request: Request, access: Access) -> PageCall:
        return PageCall(request, self._views, await self._session(request, access), access)

    async def _session(self, request: Request, access: Access) -> PersonSession | None:
        match access:
            case "servers":
                return None
            case "public":
                self._auth.require_same_origin(request)
                return None
            case "person":
                return await self._auth.require_person(request)
            case "operator":
                return await self._auth.require_operator(request)
            case _:
                return await self._auth.require_session(request, access)
