"""What web processes run of QR codes."""

from starlette.types import ASGIApp

from waypost.redirect import RouteTable
from waypost.resources.qrcodes import api, pages
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.known_images import KnownImageResponder
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps, guard)], pages.DesignPages(deps, auth, views).endpoints())


def before_framework(deps: Deps, app: ASGIApp, routes: RouteTable, guard: Guard) -> KnownImageResponder:
    """Return an application that answers requests for images in memory, and passes all others on to `app`."""
    return KnownImageResponder(app, deps.known_images, deps.image_cache, routes, guard.is_plain_http)
