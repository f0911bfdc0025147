"""The form that creates or changes a link."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, Unavailable
from waypost.kit.fields import parse
from waypost.kit.ids import new_id, parse_id
from waypost.resources.links import forms, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.filters import find_choices
from waypost.resources.links.model import Link
from waypost.resources.links.preview_pages import FORM, typed_card
from waypost.resources.links.schemas import LinkChange, NewLink
from waypost.web import path_id
from waypost.web.dashboard import Form, SessionAuth, Views, read_form


def routes(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _LinkFormPages(deps, auth, views)
    return [
        Route("/links/new", pages.new),
        Route("/links/new", pages.create, methods=["POST"]),
        Route("/links/{id}/edit", pages.edit),
        Route("/links/{id}/edit", pages.change, methods=["POST"]),
    ]


class _LinkFormPages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    async def new(self, request: Request) -> Response:
        """Blank, with `?url=` as destination, or with `?from=` as a copy of another link."""
        session = await self._auth.session(request)
        source = request.query_params.get("from")
        if source is None:
            form = forms.blank(self._deps, request.query_params.get("url"))
        else:
            form = forms.copy_of(await service.find(self._deps, session, await path_id(source)), self._deps)
        return await self._page(request, session, form)

    async def create(self, request: Request) -> Response:
        session = await self._auth.session(request)
        form = await read_form(request)
        if not self._auth.is_live(session):
            return await self._page(request, session, form, status=402)
        try:
            new, problems = parse(NewLink, forms.created(form))
            id_ = parse_id(form.text("form_id")) or new_id()
            link = await service.create_once(self._deps, session, new, problems, id_)
        except (Invalid, Unavailable) as error:
            return await self._refused(request, session, form, error)
        return RedirectResponse(f"/links/{link.id}?done=created", 303)

    async def edit(self, request: Request) -> Response:
        session, id_ = await self._auth.session(request), await path_id(request.path_params["id"])
        link = await service.find(self._deps, session, id_)
        return await self._page(request, session, forms.of_link(link, self._deps), link)

    async def change(self, request: Request) -> Response:
        session, id_ = await self._auth.session(request), await path_id(request.path_params["id"])
        link = await service.find(self._deps, session, id_)
        form = await read_form(request)
        if not self._auth.is_live(session):
            return await self._page(request, session, form, link, status=402)
        try:
            change, problems = parse(LinkChange, forms.changes(form, link, self._deps))
            await service.change(self._deps, session, id_, change, problems)
        except (Invalid, Unavailable) as error:
            return await self._refused(request, session, form, error, link)
        return RedirectResponse(f"/links?done=changed&link={id_}", 303)

    async def _refused(
        self, request: Request, session: Session, form: Form, error: Invalid | Unavailable, link: Link | None = None
    ) -> Response:
        if isinstance(error, Invalid):
            return await self._page(request, session, form.with_errors(error.errors), link, status=422)
        return await self._page(request, session, form.with_errors({"body": [error.message]}), link, status=503)

    async def _page(
        self, request: Request, session: Session, form: Form, link: Link | None = None, *, status: int = 200
    ) -> Response:
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, session.account.id)
        context: dict[str, Any] = {
            "form": form,
            "link": link,
            "choices": choices,
            "shared_domain": self._deps.shared_domain,
            "card": typed_card(self._deps, form),
            "is_live": self._auth.is_live(session),
        }
        return self._views.page(request, FORM, status=status, problem="", state="blank", **context)
