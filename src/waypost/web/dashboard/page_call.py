"""What a page gets."""

from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Person
from waypost.accounts.roles import LEAST_ROLE
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.http.status import headers_of, status_of
from waypost.kit.errors import WaypostError
from waypost.kit.fields import Upload
from waypost.kit.ids import require_id
from waypost.kit.pagination import PageRequest
from waypost.kit.preferences import DEFAULT, Preferences
from waypost.web.body import MAX_MULTIPART
from waypost.web.dashboard.edit_form import ZONE, EditForm, Names
from waypost.web.dashboard.form_account import SESSION, take_account
from waypost.web.dashboard.forms import BLANK, Form, read_fields
from waypost.web.dashboard.session_auth import Access
from waypost.web.dashboard.views import Views
from waypost.web.pagination import require_pagination

_MAX_PUBLIC_FORM = 64 << 10
_MAX_FIELDS = 300


@dataclass(frozen=True, slots=True)
class PageCall:
    """A request for a page, with who makes it and the form that was sent."""

    request: Request
    views: Views
    known: PersonSession | None
    """The session that `access` requires; None for public pages."""
    access: Access
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
    def preferences(self) -> Preferences:
        """Of the person, in the time zone in which the form that was sent showed its times."""
        session, zone = self.known or self.request.scope.get(SESSION), self.form.text(ZONE)
        own = session.person.preferences if session else DEFAULT
        return own.in_zone(zone)

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

    async def read(self, max_size: int = MAX_MULTIPART, max_fields: int = _MAX_FIELDS) -> "PageCall":
        """Return the call with the form that was sent. Anyone can send one to a public page: it is small.

        Raises OtherAccount if it was made for another account than the session shows, and as `read_fields` does.
        """
        limit = max_size if self.known else _MAX_PUBLIC_FORM
        fields = await read_fields(self.request, limit, max_fields=max_fields)
        return replace(self, form=Form(take_account(self.session if self.access in LEAST_ROLE else None, fields)))

    def expecting(self, edit: EditForm) -> "PageCall":
        """Let verbs refuse the change if the form shows another version of the object."""
        return replace(self, known=replace(self.session, expected=edit.expected(self.form)))

    def show_conflict(self, edit: EditForm, stored: Any, names: Names) -> Response:
        """Show the stored version beside the one that was sent."""
        of = (stored, self.form, self.preferences)
        context: dict[str, Any] = {
            "page": edit.page.format(**self.request.path_params) or self.request.url.path,
            "by": edit.changed_by(stored),
            "rows": edit.compare(*of, names),
            "hidden": edit.merge(*of),
            "is_multipart": "multipart" in self.request.headers["content-type"],  # which allows fewer fields
            "has_file": any(isinstance(value, Upload) for value in self.form.fields.values()),
        }
        return self.views.render_page(self.request, "frame/conflict.html", status=412, **context)

    def refused(self, error: WaypostError) -> "PageCall":
        return replace(self, error=error)

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "")

    def pagination(self, per_page: int) -> PageRequest:
        return replace(require_pagination(self.request), per_page=per_page)

    def render(self, template: str, form: Form = BLANK, *, status: int = 200, **context: Any) -> Response:
        """Render the page. `form`: what its form has before it was sent; a refused one is shown with its error."""
        context = {"preferences": self.preferences, **context}
        if self.error is None:
            return self.views.render_page(self.request, template, status=status, form=form, **context)
        status, form = status_of(self.error), self.form.with_error(self.error)
        response = self.views.render_page(self.request, template, status=status, form=form, **context)
        response.headers.update(headers_of(self.error))
        return response
