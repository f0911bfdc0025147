"""What the processes run of QR codes."""

from waypost.resources.qrcodes import api, pages
from waypost.resources.qrcodes.deps import Deps
from waypost.web.api import Routes
from waypost.web.dashboard import SessionAuth, Views
from waypost.web.guard import Guard


def routes(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Routes:
    return Routes([api.routes(deps, guard)], pages.routes(deps, auth, views))
