"""What web processes run of QR codes."""

from waypost.resources.qrcodes import api, pages
from waypost.resources.qrcodes.deps import Deps
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps, guard)], pages.DesignPages(deps, auth, views).endpoints())
