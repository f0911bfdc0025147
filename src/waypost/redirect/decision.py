"""Decides what a visitor of a link gets. Pure: the protocol and the ASGI entry point write it out (ADR 1)."""

from typing import Final, NamedTuple

from waypost.redirect import pixel_pages
from waypost.redirect.forwarding import forward
from waypost.redirect.pages import EndedKind
from waypost.redirect.pixel_pages import PixelPage
from waypost.redirect.request import VisitRequest
from waypost.redirect.route import DISABLED, ID_SIZE, Route
from waypost.redirect.route_options import DEFAULT_TARGET, RouteOptions

REDIRECT: Final = 0
PIXEL_PAGE: Final = 1
PREVIEW: Final = 2
PASSWORD_FORM: Final = 3
NOT_FOUND: Final = 4
UNDECIDED: Final = 5
"""Kinds of answers. The first three are visits."""


class VisitAnswer:
    def __init__(
        self, kind: int, location: bytes | None = None, target: str = "", pixel_page: PixelPage | None = None
    ) -> None:
        self.kind = kind
        self.location = location
        """None for the link's own destination. Of NOT_FOUND the link's fallback, or None."""
        self.target = target
        """The name of the rule or variant. Empty without rules and variants."""
        self.pixel_page = pixel_page

    @property
    def is_visit(self) -> bool:
        return self.kind <= PREVIEW


class Checks(NamedTuple):
    """What a route does not say."""

    has_password: bool
    """Whether the visitor may follow a protected link."""
    is_used_up: bool
    """Whether the link has reached its click limit."""


OWN_DESTINATION: Final = VisitAnswer(REDIRECT)
NO_LINK: Final = VisitAnswer(NOT_FOUND)
_OWN_PREVIEW: Final = VisitAnswer(PREVIEW)
_DEFAULT_PREVIEW: Final = VisitAnswer(PREVIEW, None, DEFAULT_TARGET)
_PASSWORD_FORM: Final = VisitAnswer(PASSWORD_FORM)
_UNDECIDED: Final = VisitAnswer(UNDECIDED)


def decide_visit(route: Route, request: VisitRequest, checks: Checks | None = None) -> VisitAnswer:
    """Return UNDECIDED where `checks` are needed, or data of the rules that are not loaded yet."""
    _, _, expires_at, pixel_page, _, options = route
    if request.at >= expires_at:
        return not_found(route)
    if options is not None:
        return _decide_by_options(route, options, request, checks)
    if request.is_bot:
        return _OWN_PREVIEW
    if pixel_page is not None and request.may_fire:
        return VisitAnswer(PIXEL_PAGE, None, "", pixel_page)
    return OWN_DESTINATION


def not_found(route: Route) -> VisitAnswer:
    """Return the answer of a link that does not resolve now. A disabled one has no fallback."""
    _, _, expires_at, _, _, options = route
    return NO_LINK if options is None or expires_at == DISABLED else VisitAnswer(NOT_FOUND, options.fallback)


def ended_kind(route: Route, now: float) -> EndedKind:
    """Return why a link does not resolve. That it is disabled is not shown."""
    _, _, expires_at, _, _, options = route
    if expires_at == DISABLED:
        return "not_found"
    if options is not None and now < options.starts_at:
        return "not_started"
    is_limited = options is not None and options.click_limit is not None
    return "expired" if is_limited or now >= expires_at else "not_found"


def has_ended(route: Route, now: float) -> bool:
    """Return whether there is no link, or it has expired or is disabled. Before its start it has not ended."""
    _, _, expires_at, _, _, _ = route
    return now >= expires_at


def _decide_by_options(  # noqa: PLR0911  # one for each answer
    route: Route, options: RouteOptions, request: VisitRequest, checks: Checks | None
) -> VisitAnswer:
    if request.at < options.starts_at or (checks is not None and checks.is_used_up):
        return not_found(route)
    if options.needs_checks and checks is None:
        return _UNDECIDED
    if checks is not None and not checks.has_password:
        return _PASSWORD_FORM
    routing = options.routing
    if request.is_bot:
        return _DEFAULT_PREVIEW if routing else _OWN_PREVIEW
    _, id_and_location, _, pixel_page, _, _ = route
    location, target = None, ""
    if routing:
        visitors = request.visitors()
        if not visitors.has_loaded(routing):
            return _UNDECIDED
        target, location = visitors.decide(routing, id_and_location[:ID_SIZE], request)
        if location:
            pixel_page = options.pixel_pages.get(location)
    if options.forwarding is not None and (request.query or request.more_path):
        to = location or id_and_location[ID_SIZE:]
        location = forward(to, options.forwarding, request.query, request.more_path)
        pixel_page = pixel_page and pixel_pages.prepare(location.decode(), options.fired)
    if pixel_page is None or not request.may_fire:
        return VisitAnswer(REDIRECT, location, target)
    return VisitAnswer(PIXEL_PAGE, location, target, pixel_page)
