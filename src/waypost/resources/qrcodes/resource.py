"""The parts of QR codes."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web
from waypost.resources.qrcodes import account_data, delete_for_links

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.qrcodes import api, file_api, file_pages, pages
    from waypost.resources.qrcodes.deps import Deps
    from waypost.resources.qrcodes.image_urls import Urls
    from waypost.resources.qrcodes.logos import api as logo_api
    from waypost.secret_key import derived_keys
    from waypost.web import Endpoints

    context = web.context
    deps = Deps(**vars(context), urls=Urls(context.base_url, derived_keys(web.settings, "qrcodes")))
    web.stack.callback(deps.image_cache.close)
    web.stack.callback(deps.image_reencoder.close)
    design = pages.DesignPages(deps, web.auth, web.views).endpoints()
    files = file_pages.FilePages(deps, web.auth, web.views).endpoints()
    endpoints = [*api.ENDPOINTS, *file_api.ENDPOINTS, *logo_api.ENDPOINTS]
    return Endpoints([(deps, endpoints)], [*design, *files], routes=[logo_api.route(deps)])


RESOURCE = Resource(
    templates={"qrcodes": "waypost.resources.qrcodes"},
    endpoints=_endpoints,
    exported_rows={"logos.ndjson": account_data.read_logos, "qr_styles.ndjson": account_data.read_styles},
    delete_of_links=delete_for_links,
)
