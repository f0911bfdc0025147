"""What the pages of all resources share.

A subclass has a method for each page, and `endpoints` lists their paths. A page with a form passes the error
of a service to `views.form`, which shows it beside the fields and sets the status:

    session, form = await self._read(request)
    try:
        self._auth.require_active_plan(session)
        await service.create(self._deps, session, …)
    except (Invalid, PaymentRequired) as error:
        return self._views.form(request, "pixels/new.html", form, error)
"""

from typing import Generic, TypeVar
from uuid import UUID

from starlette.requests import Request

from waypost.auth.sessions import Session
from waypost.kit.errors import NotFound
from waypost.kit.ids import parse_id
from waypost.web.dashboard.forms import Form, read_form
from waypost.web.dashboard.session_auth import SessionAuth
from waypost.web.dashboard.views import Views

D = TypeVar("D")


class Pages(Generic[D]):
    def __init__(self, deps: D, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    async def _read(self, request: Request) -> tuple[Session, Form]:
        return await self._auth.require_session(request), await read_form(request)

    def _path_id(self, request: Request, name: str = "id") -> UUID:
        """Raises NotFound: no resource has an id that is not a UUID."""
        found = parse_id(request.path_params[name])
        if found is None:
            raise NotFound
        return found
