"""The form that creates or changes a link, and its fragments that follow the input: slug state and social card.

A card's image is fetched and re-encoded here, because our pages load nothing from other hosts.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import roles
from waypost.accounts.sessions.store import Session
from waypost.kit.errors import Invalid, NotFound, PaymentRequired, Problems, RateLimited, Unavailable
from waypost.kit.ids import parse_id, require_id
from waypost.resources import domains
from waypost.resources.links import checks, routing, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.form import fields as forms
from waypost.resources.links.form.choices import find_choices
from waypost.resources.links.images import api as media_api
from waypost.resources.links.model import Link
from waypost.web import status_of
from waypost.web.dashboard import Form, Pages, get, post, read_form, redirect

_TEMPLATE = "links/form.html"
_IMAGE_HEADERS = media_api.DISPLAY_ONLY | {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_UNREACHABLE = "The destination URL could not be reached: {}. You can still save the link."


class LinkFormPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get("/links/new", self.new, "links.write"),
            post("/links/new", self.create, "links.write"),
            get("/links/{id}/edit", self.edit, "view"),
            post("/links/{id}/edit", self.change, "links.write"),
            get("/links/check-slug", self.check_slug, "links.write"),
            post("/links/preview", self.preview_destination, "links.write"),
            get("/links/card-image", self.card_image, "links.write"),
        ]

    async def new(self, request: Request) -> Response:
        """Show a blank form, a copy of the link `?from=`, or one with what a browser or another app shares."""
        session = await self._auth.require_session(request)
        source = request.query_params.get("from")
        if source is None:
            form = forms.fill_shared(self._deps, request.query_params)
        else:
            form = forms.fill_copy(await service.get(self._deps, session, require_id(source)), self._deps)
        return await self._render_form(request, session, form)

    async def create(self, request: Request) -> Response:
        session, form = await self._read(request)
        if not self._auth.has_active_plan(session):
            return await self._render_form(request, session, form, status=402)
        try:
            new, problems, form_id = forms.read_new_link(form)
            link = await service.create_once(self._deps, session, new, problems, form_id)
        except (Invalid, Unavailable) as error:
            return await self._render_error(request, session, form, error)
        return _redirect_to(link, "created", problems)

    async def edit(self, request: Request) -> Response:
        """Show the form, or its values to members who cannot change them."""
        session, link = await self._get_link(request)
        template = _TEMPLATE if roles.may(session.role, "links.write") else "links/settings.html"
        form = forms.fill_from_link(link, self._deps)
        return await self._render_form(request, session, form, link, template=template)

    async def change(self, request: Request) -> Response:
        session, link = await self._get_link(request)
        form = await read_form(request)
        if not self._auth.has_active_plan(session):
            return await self._render_form(request, session, form, link, status=402)
        try:
            change, problems = forms.read_change(form, link, self._deps)
            await service.change(self._deps, session, link.id, change, problems)
        except (Invalid, Unavailable) as error:
            return await self._render_error(request, session, form, error, link)
        return _redirect_to(link, "changed", problems)

    async def check_slug(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        slug, link_id = request.query_params.get("slug", ""), parse_id(request.query_params.get("link", ""))
        state, problem = await service.slug_state(self._deps, session, slug, link_id) if slug else ("blank", "")
        return self._views.render_fragment(request, _TEMPLATE, "slug_state", state=state, problem=problem)

    async def preview_destination(self, request: Request) -> Response:
        """Render the social card of the destination's page."""
        session = await self._auth.require_session(request)
        form, card, problem = await read_form(request), None, ""
        try:
            if form.text("destination_url").strip():
                self._auth.require_active_plan(session)
                await self._auth.limit_expensive(session, "preview")
                new, problems = forms.read_destination(form)
                metadata = await checks.fetch_metadata(self._deps, session.account.id, new, problems)
                card = forms.scraped_card(self._deps, form, metadata)
                if reason := problems.reasons.get("destination_url"):
                    card, problem = None, _UNREACHABLE.format(reason)
        except Invalid as error:
            problem = Form().with_error(error).error("destination_url")
        except RateLimited:
            problem = "Too many previews. Try again in a minute. You can still create the link."
        except (PaymentRequired, Unavailable) as error:
            problem = error.message
        return self._views.render_fragment(request, _TEMPLATE, "card", card=card, problem=problem)

    async def card_image(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        is_same_origin = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_same_origin or not self._auth.has_active_plan(session):
            raise NotFound
        await self._auth.limit_expensive(session, "image")
        image = await checks.fetch_image(self._deps, session.account.id, request.query_params.get("url", ""))
        return Response(image.content, media_type=media_api.TYPES[image.extension], headers=_IMAGE_HEADERS)

    async def _get_link(self, request: Request) -> tuple[Session, Link]:
        session = await self._auth.require_session(request)
        return session, await service.get(self._deps, session, self._path_id(request))

    async def _render_error(
        self, request: Request, session: Session, form: Form, error: Invalid | Unavailable, link: Link | None = None
    ) -> Response:
        return await self._render_form(request, session, form.with_error(error), link, status=status_of(error))

    async def _render_form(
        self,
        request: Request,
        session: Session,
        form: Form,
        link: Link | None = None,
        *,
        status: int = 200,
        template: str = _TEMPLATE,
    ) -> Response:
        async with self._deps.db.read() as tx:
            choices = await find_choices(tx, session.account.id)
            unserved = await domains.find_unserved(tx, [link.domain_id] if link else ())
            routed = await routing.find_routed(tx, [link.id] if link else ())
        return self._views.render_page(
            request,
            template,
            status=status,
            problem="",
            state="blank",
            form=form,
            link=link,
            choices=choices,
            readable=domains.readable,
            is_domain_served=not unserved,
            is_routed=bool(routed),
            shared_domain=self._deps.shared_domain,
            card=forms.typed_card(self._deps, form),
            has_active_plan=self._auth.has_active_plan(session),
        )


def _redirect_to(link: Link, done: str, problems: Problems) -> Response:
    unreachable = "&destination=unreachable" if problems.reasons else ""
    return redirect(f"/links/{link.id}?done={done}{unreachable}")
