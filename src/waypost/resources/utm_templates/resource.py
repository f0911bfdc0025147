"""The parts of campaign templates."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web
from waypost.resources.utm_templates import account_data
from waypost.resources.utm_templates.model import utm_templates

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.utm_templates import api, pages
    from waypost.web import Endpoints

    of_pages = pages.UtmTemplatePages(web.context, web.auth, web.views).endpoints()
    return Endpoints([(web.context, api.ENDPOINTS)], of_pages)


RESOURCE = Resource(
    templates={"utm_templates": "waypost.resources.utm_templates"},
    endpoints=_endpoints,
    exported_rows={"utm_templates.ndjson": account_data.read_templates},
    deleted_rows=[utm_templates],
)
