"""Parts of the link form that follow the input: whether a slug is free, and the social card of a destination.

A card's image is fetched and re-encoded here, because our pages load nothing from other hosts. Whatever fails gets the
same 404, so that nobody can use it to probe which URLs exist.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.kit.errors import Invalid, NotFound, PaymentRequired, RateLimited, Unavailable
from waypost.kit.ids import parse_id
from waypost.kit.urls import BadUrl, canonical
from waypost.outbound import OutboundError
from waypost.resources.links import media, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import MAX_BYTES, BadImage
from waypost.resources.links.schemas import MAX_URL
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

FORM = "links/form.html"
_IMAGE_HEADERS = media.DISPLAY_ONLY | {
    "Cache-Control": "private, max-age=3600",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class SocialCard:
    """How a link looks where it is shared."""

    host: str
    title: str
    description: str
    image: str
    """A URL, or empty."""
    hosted_image: str
    """The path of an image that is hosted here, or empty."""
    page_title: str = ""
    """Of the destination's page."""


def routes(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages = _LinkPreviewPages(deps, auth, views)
    return [
        Route("/links/check-slug", pages.check_slug),
        Route("/links/preview", pages.preview, methods=["POST"]),
        Route("/links/card-image", pages.card_image, methods=["GET"]),
    ]


def typed_card(deps: Deps, form: Form) -> SocialCard | None:
    """The card as far as it is known without a request to the destination."""
    host = _host(form.text("destination_url"))
    title = form.text("og_title") or form.text("title")
    return _card(deps, host, title, form.text("og_description"), form.text("og_image")) if host else None


class _LinkPreviewPages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    async def check_slug(self, request: Request) -> Response:
        session = await self._auth.session(request)
        slug, link_id = request.query_params.get("slug", ""), parse_id(request.query_params.get("link", ""))
        state, problem = await service.slug_state(self._deps, session, slug, link_id) if slug else ("blank", "")
        return self._views.block(request, FORM, "slug_state", state=state, problem=problem)

    async def preview(self, request: Request) -> Response:
        session = await self._auth.session(request)
        destination = (await read_form(request)).text("destination_url").strip()
        card, problem = None, ""
        try:
            if destination:
                self._auth.require_live_plan(session)
                await self._auth.limit_expensive(session, "preview")
                found = await service.preview(self._deps, session, destination)
                texts = found.og_title or found.title or "", found.og_description or "", found.og_image or ""
                card = _card(self._deps, _host(destination), *texts, page_title=found.title or "")
        except Invalid as error:
            problem = Form().with_errors(error.errors).error("destination_url")
        except (PaymentRequired, RateLimited, Unavailable) as error:
            problem = error.message
        return self._views.block(request, FORM, "card", card=card, problem=problem)

    async def card_image(self, request: Request) -> Response:
        session = await self._auth.session(request)
        is_same_origin = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_same_origin or not self._auth.is_live(session):
            raise NotFound
        await self._auth.limit_expensive(session, "image")
        url, account = request.query_params.get("url", ""), session.account.id
        if len(url) > MAX_URL:
            raise NotFound
        try:
            content = await self._deps.destinations.fetch_image(canonical(url), account=account, max_body=MAX_BYTES)
            image = await self._deps.images.clean(content, account=account)
        except (BadUrl, OutboundError, BadImage, Unavailable):
            raise NotFound from None
        return Response(image.content, media_type=media.TYPES[image.extension], headers=_IMAGE_HEADERS)


def _card(deps: Deps, host: str, title: str, description: str, image: str, *, page_title: str = "") -> SocialCard:
    hosted = image.removeprefix(deps.base_url) if media.is_url(deps.base_url, image) else ""
    return SocialCard(host, title, description, image, hosted, page_title)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
