"""What web processes run of pixels."""

from waypost.resources.pixels import api, pages
from waypost.resources.pixels.deps import Deps
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps, guard)], pages.PixelPages(deps, auth, views).endpoints())
