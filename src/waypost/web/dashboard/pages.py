"""What the pages of all resources share.

A subclass has a method for each page, and `endpoints` lists their paths. A page with a form passes the error of a
service to `views.form`, which shows it beside the fields and sets the status:

    session, form = await self._read(request)
    try:
        self._auth.require_active_plan(session)
        await service.create(self._deps, session, …)
    except (Invalid, PaymentRequired) as error:
        return self._views.form(request, "pixels/new.html", form, error)
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar
from uuid import UUID

from starlette.requests import Request
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.kit.ids import require_id
from waypost.web.dashboard.forms import Form, read_form
from waypost.web.dashboard.session_auth import SessionAuth
from waypost.web.dashboard.views import Views

D = TypeVar("D")


class Pages(ABC, Generic[D]):
    def __init__(self, deps: D, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    @abstractmethod
    def endpoints(self) -> list[Route]: ...

    async def _read(self, request: Request) -> tuple[Session, Form]:
        return await self._auth.require_session(request), await read_form(request)

    def _path_id(self, request: Request, name: str = "id") -> UUID:
        """Return the id in the path. Raises NotFound if it is not a UUID."""
        return require_id(request.path_params[name])
