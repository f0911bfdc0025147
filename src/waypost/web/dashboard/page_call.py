"""What a page gets."""

from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Person
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.kit.errors import WaypostError
from waypost.kit.ids import require_id
from waypost.kit.pagination import PageRequest
from waypost.web.body import MAX_MULTIPART
from waypost.web.dashboard.forms import BLANK, Form, read_form
from waypost.web.dashboard.views import Views
from waypost.web.pagination import require_pagination

_MAX_PUBLIC_FORM = 64 << 10


@dataclass(frozen=True, slots=True)
class PageCall:
    """A request for a page, with who makes it and the form that was sent."""

    request: Request
    views: Views
    known: PersonSession | None
    """The session that the page's `Access` requires; None for public pages."""
    form: Form = BLANK
    error: WaypostError | None = None
    """Why the form was refused."""

    @property
    def session(self) -> Session:
        """Of a page of an account."""
        return cast("Session", self.known)

    @property
    def person_session(self) -> PersonSession:
        """Of a page of a person, or of operators."""
        return cast("PersonSession", self.known)

    @property
    def person(self) -> Person:
        return self.person_session.person

    @property
    def id(self) -> UUID:
        return self.path_id("id")

    @property
    def token(self) -> str:
        """Of the path of a link in an email."""
        return str(self.request.path_params["token"])

    def path_id(self, name: str) -> UUID:
        """Return an id in the path. Raises NotFound if it is not a UUID."""
        return require_id(str(self.request.path_params[name]))

    async def read(self) -> "PageCall":
        """Return the call with the form that was sent. Anyone can send one to a public page: it is small."""
        limit = MAX_MULTIPART if self.known else _MAX_PUBLIC_FORM
        return replace(self, form=await read_form(self.request, limit))

    def refused(self, error: WaypostError) -> "PageCall":
        return replace(self, error=error)

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "")

    def pagination(self, per_page: int) -> PageRequest:
        return replace(require_pagination(self.request), per_page=per_page)

    def render(self, template: str, form: Form = BLANK, *, status: int = 200, **context: Any) -> Response:
        """Render the page. `form`: what its form has before it was sent; a refused one is shown with its error."""
        if self.error:
            return self.views.form(self.request, template, self.form, self.error, **context)
        return self.views.render_page(self.request, template, status=status, form=form, **context)
