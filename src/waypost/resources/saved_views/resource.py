"""The parts of saved views."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web
from waypost.resources.saved_views import account_data
from waypost.resources.saved_views.model import saved_views

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.saved_views.pages import ViewPages
    from waypost.web import Endpoints

    return Endpoints(pages=ViewPages(web.context, web.auth, web.views).endpoints())


RESOURCE = Resource(
    templates={"saved_views": "waypost.resources.saved_views"},
    endpoints=_endpoints,
    exported_rows={"saved_views.ndjson": account_data.read_views},
    deleted_rows=[saved_views],
)
