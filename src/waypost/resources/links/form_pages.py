"""The form that creates or changes a link, and its parts that follow the input: the state of a slug, and a social card.

A card's image is fetched and re-encoded here, because our pages load nothing from other hosts.
"""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, NotFound, PaymentRequired, RateLimited, Unavailable
from waypost.kit.ids import parse_id
from waypost.resources.links import checks, forms, media, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.lists import find_choices
from waypost.resources.links.model import Link
from waypost.web import path_id
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

_TEMPLATE = "links/form.html"
_IMAGE_HEADERS = media.DISPLAY_ONLY | {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _LinkFormPages(deps, auth, views)
    return [
        Route("/links/new", pages.new),
        Route("/links/new", pages.create, methods=["POST"]),
        Route("/links/{id}/edit", pages.edit),
        Route("/links/{id}/edit", pages.change, methods=["POST"]),
        Route("/links/check-slug", pages.check_slug),
        Route("/links/preview", pages.preview, methods=["POST"]),
        Route("/links/card-image", pages.card_image),
    ]


@dataclass(frozen=True)
class _LinkFormPages:
    deps: Deps
    auth: SessionAuth
    views: Views

    async def new(self, request: Request) -> Response:
        """Blank, with `?url=` as destination, or with `?from=` as a copy of another link."""
        session = await self.auth.require_session(request)
        source = request.query_params.get("from")
        if source is None:
            form = forms.blank(self.deps, request.query_params.get("url"))
        else:
            form = forms.copy_of(await service.find(self.deps, session, await path_id(source)), self.deps)
        return await self._page(request, session, form)

    async def create(self, request: Request) -> Response:
        session = await self.auth.require_session(request)
        form = await read_form(request)
        if not self.auth.has_active_plan(session):
            return await self._page(request, session, form, status=402)
        try:
            link = await service.create_once(self.deps, session, *forms.new_link(form))
        except (Invalid, Unavailable) as error:
            return await self._refused(request, session, form, error)
        return RedirectResponse(f"/links/{link.id}?done=created", 303)

    async def edit(self, request: Request) -> Response:
        session, link = await self._link(request)
        return await self._page(request, session, forms.of_link(link, self.deps), link)

    async def change(self, request: Request) -> Response:
        session, link = await self._link(request)
        form = await read_form(request)
        if not self.auth.has_active_plan(session):
            return await self._page(request, session, form, link, status=402)
        try:
            await service.change(self.deps, session, link.id, *forms.link_change(form, link, self.deps))
        except (Invalid, Unavailable) as error:
            return await self._refused(request, session, form, error, link)
        return RedirectResponse(f"/links?done=changed&link={link.id}", 303)

    async def check_slug(self, request: Request) -> Response:
        session = await self.auth.require_session(request)
        slug, link_id = request.query_params.get("slug", ""), parse_id(request.query_params.get("link", ""))
        state, problem = await service.slug_state(self.deps, session, slug, link_id) if slug else ("blank", "")
        return self.views.render_fragment(request, _TEMPLATE, "slug_state", state=state, problem=problem)

    async def preview(self, request: Request) -> Response:
        session = await self.auth.require_session(request)
        form, card, problem = await read_form(request), None, ""
        try:
            if form.text("destination_url").strip():
                self.auth.require_active_plan(session)
                await self.auth.limit_expensive(session, "preview")
                found = await checks.preview(self.deps, session.account.id, *forms.destination(form))
                card = forms.scraped_card(self.deps, form, found)
        except Invalid as error:
            problem = Form().with_errors(error.errors).error("destination_url")
        except (PaymentRequired, RateLimited, Unavailable) as error:
            problem = error.message
        return self.views.render_fragment(request, _TEMPLATE, "card", card=card, problem=problem)

    async def card_image(self, request: Request) -> Response:
        session = await self.auth.require_session(request)
        is_same_origin = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_same_origin or not self.auth.has_active_plan(session):
            raise NotFound
        await self.auth.limit_expensive(session, "image")
        image = await checks.fetch_image(self.deps, session.account.id, request.query_params.get("url", ""))
        return Response(image.content, media_type=media.TYPES[image.extension], headers=_IMAGE_HEADERS)

    async def _link(self, request: Request) -> tuple[Session, Link]:
        session = await self.auth.require_session(request)
        return session, await service.find(self.deps, session, await path_id(request.path_params["id"]))

    async def _refused(
        self, request: Request, session: Session, form: Form, error: Invalid | Unavailable, link: Link | None = None
    ) -> Response:
        if isinstance(error, Invalid):
            return await self._page(request, session, form.with_errors(error.errors), link, status=422)
        return await self._page(request, session, form.with_errors({"body": [error.message]}), link, status=503)

    async def _page(
        self, request: Request, session: Session, form: Form, link: Link | None = None, *, status: int = 200
    ) -> Response:
        async with self.deps.db.read() as tx:
            choices = await find_choices(tx, session.account.id)
        return self.views.render_page(
            request,
            _TEMPLATE,
            status=status,
            problem="",
            state="blank",
            form=form,
            link=link,
            choices=choices,
            shared_domain=self.deps.shared_domain,
            card=forms.typed_card(self.deps, form),
            has_active_plan=self.auth.has_active_plan(session),
        )
