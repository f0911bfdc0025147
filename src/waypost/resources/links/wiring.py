"""What web processes run of links."""

from waypost.resources.links import api, bulk_pages, media_api, pages
from waypost.resources.links.deps import Deps
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views, *, sparklines: pages.Sparklines) -> Endpoints:
    api_routers = [api.endpoints(deps, guard), media_api.endpoints(deps.image_store)]
    of_pages = [
        *bulk_pages.BulkPages(deps, auth, views).endpoints(),  # first: its paths also match those of one link
        *pages.LinkPages(deps, auth, views, sparklines).endpoints(),
    ]
    return Endpoints(api_routers, of_pages)
