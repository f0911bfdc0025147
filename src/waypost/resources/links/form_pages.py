"""The form that makes or changes a link, and what it says meanwhile: is the slug free, what is behind an address?"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, PaymentRequired, RateLimited, Unavailable
from waypost.kit.fields import parse
from waypost.kit.ids import new_id, parse_id
from waypost.outbound import PagePreview
from waypost.resources.links import forms, media, service
from waypost.resources.links.choices import choices
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, NewLink
from waypost.web import path_id
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

_FORM = "links/form.html"


@dataclass(frozen=True, slots=True)
class Card:
    """What is seen of a link where it is shared."""

    host: str
    title: str
    description: str
    image: str
    """An address; empty where there is none."""
    picture: str
    """A path of our own that shows the image; empty for one elsewhere, since our pages load nothing from there."""
    page_title: str = ""
    """Of the destination itself."""


def routes(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _Pages(deps, auth, views)
    return [
        Route("/links/new", pages.new),
        Route("/links/new", pages.create, methods=["POST"]),
        Route("/links/check-slug", pages.check_slug),
        Route("/links/preview", pages.preview, methods=["POST"]),
        Route("/links/{id}/edit", pages.edit),
        Route("/links/{id}/edit", pages.change, methods=["POST"]),
    ]


class _Pages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    async def new(self, request: Request) -> Response:
        """Blank, or for `?from=` with what another link has."""
        session = await self._auth.session(request)
        source = request.query_params.get("from")
        if source is None:
            form = forms.blank(self._deps)
            form = Form({**form.fields, "destination_url": request.query_params.get("url")})
        else:
            form = forms.copy_of(await service.find(self._deps, session, await path_id(source)), self._deps)
        return await self._shown(request, session, form)

    async def create(self, request: Request) -> Response:
        session = await self._auth.session(request)
        form = await read_form(request)
        if not self._auth.is_live(session):
            return await self._shown(request, session, form, status=402)
        try:
            new, problems = parse(NewLink, forms.created(form))
            id_ = parse_id(form.text("form_id")) or new_id()
            link = await service.create_once(self._deps, session, new, problems, id_)
        except Invalid as error:
            return await self._shown(request, session, form.wrong(error.errors), status=422)
        except Unavailable as error:
            return await self._shown(request, session, form.wrong({"body": [error.message]}), status=503)
        return RedirectResponse(f"/links/{link.id}?done=created", 303)

    async def edit(self, request: Request) -> Response:
        session, id_ = await self._auth.session(request), await path_id(request.path_params["id"])
        link = await service.find(self._deps, session, id_)
        return await self._shown(request, session, forms.of_link(link, self._deps), link)

    async def change(self, request: Request) -> Response:
        session, id_ = await self._auth.session(request), await path_id(request.path_params["id"])
        link = await service.find(self._deps, session, id_)
        form = await read_form(request)
        if not self._auth.is_live(session):
            return await self._shown(request, session, form, link, status=402)
        try:
            wanted, problems = parse(LinkChange, forms.changes(form, link, self._deps))
            await service.change(self._deps, session, id_, wanted, problems)
        except Invalid as error:
            return await self._shown(request, session, form.wrong(error.errors), link, status=422)
        except Unavailable as error:
            return await self._shown(request, session, form.wrong({"body": [error.message]}), link, status=503)
        return RedirectResponse(f"/links?done=changed&link={id_}", 303)

    async def check_slug(self, request: Request) -> Response:
        session = await self._auth.session(request)
        slug, link_id = request.query_params.get("slug", ""), parse_id(request.query_params.get("link", ""))
        told: dict[str, Any] = {"state": "blank", "fault": ""}
        if slug:
            told["state"], told["fault"] = await service.slug_state(self._deps, session, slug, link_id)
        return self._views.part(request, _FORM, "slug_state", **told)

    async def preview(self, request: Request) -> Response:
        session = await self._auth.session(request)
        address = (await read_form(request)).text("destination_url").strip()
        if not address:
            return self._views.part(request, _FORM, "card", card=None, fault="")
        try:
            self._auth.require_live_plan(session)
            await self._auth.limit_expensive(session, "preview")
            found = await service.preview(self._deps, session, address)
        except Invalid as error:
            fault = Form().wrong(error.errors).fault("destination_url")
            return self._views.part(request, _FORM, "card", card=None, fault=fault)
        except (PaymentRequired, RateLimited, Unavailable) as error:
            return self._views.part(request, _FORM, "card", card=None, fault=error.message)
        return self._views.part(request, _FORM, "card", card=self._scraped(address, found), fault="")

    async def _shown(
        self, request: Request, session: Session, form: Form, link: Link | None = None, *, status: int = 200
    ) -> Response:
        async with self._deps.db.read() as tx:
            offered = await choices(tx, session.account.id)
        told: dict[str, Any] = {
            "form": form,
            "link": link,
            "choices": offered,
            "shared": self._deps.shared_domain,
            "card": self._typed(form),
            "is_live": self._auth.is_live(session),
        }
        return self._views.page(request, _FORM, status=status, fault="", state="blank", **told)

    def _typed(self, form: Form) -> Card | None:
        """As far as it is known without a look at the destination."""
        host = _host(form.text("destination_url"))
        image = form.text("og_image")
        title = form.text("og_title") or form.text("title")
        return Card(host, title, form.text("og_description"), image, self._picture(image)) if host else None

    def _scraped(self, address: str, found: PagePreview) -> Card:
        title, image = found.og_title or found.title or "", found.og_image or ""
        return Card(_host(address), title, found.og_description or "", image, self._picture(image), found.title or "")

    def _picture(self, image: str) -> str:
        is_ours = media.is_url(self._deps.base_url, image)
        return image.removeprefix(self._deps.base_url) if is_ours else ""


def _host(address: str) -> str:
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""
