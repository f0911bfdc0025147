"""What web processes run of links."""

from waypost.resources.links import api, integration_pages, pages
from waypost.resources.links.bulk import pages as bulk_pages
from waypost.resources.links.deps import Deps
from waypost.resources.links.images import api as media_api
from waypost.resources.links.schemas import LinkJson
from waypost.resources.webhooks.schemas import EventJson
from waypost.web import Endpoints, EventDocs, Guard
from waypost.web.dashboard import SessionAuth, Views

_EVENTS = (
    EventDocs(
        "link.created",
        EventJson[LinkJson],
        "A link was created in the dashboard or by the API. `data` is the link as `GET /links/{id}` returned it then.",
        {"clicks": 0},
    ),
)


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views, *, sparklines: pages.Sparklines) -> Endpoints:
    api_routers = [api.endpoints(deps, guard), media_api.endpoints(deps.image_store)]
    of_pages = [
        *bulk_pages.BulkPages(deps, auth, views).endpoints(),  # first: its paths also match those of one link
        *pages.LinkPages(deps, auth, views, sparklines).endpoints(),
        *integration_pages.IntegrationPages(deps, auth, views).endpoints(),
    ]
    return Endpoints(api_routers, of_pages, _EVENTS)
