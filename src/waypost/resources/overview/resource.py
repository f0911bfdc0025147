"""The parts of the overview."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.overview.pages import OverviewPages
    from waypost.web import Endpoints

    return Endpoints(pages=OverviewPages(web.context, web.auth, web.views).endpoints())


RESOURCE = Resource(templates={"overview": "waypost.resources.overview"}, endpoints=_endpoints)
