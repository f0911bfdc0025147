"""The parts of shares."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web
from waypost.resources.shares import account_data, store
from waypost.resources.shares.model import shares

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.shares import api, pages, share_pages
    from waypost.resources.shares.deps import Deps
    from waypost.secret_key import derived_keys
    from waypost.web import Endpoints

    deps = Deps(**vars(web.context), embed_keys=derived_keys(web.settings, "embedded shares"))
    shared = pages.SharedPages(
        deps,
        web.auth,
        web.views,
        limiters=web.limiters,
        trusted=web.settings.trusted_proxies,
        cookie_keys=derived_keys(web.settings, "passwords of shares"),
    )
    own = share_pages.SharePages(deps, web.auth, web.views)
    return Endpoints([(deps, api.ENDPOINTS)], [*shared.endpoints(), *own.endpoints()])


RESOURCE = Resource(
    templates={"shares": "waypost.resources.shares"},
    endpoints=_endpoints,
    exported_rows={"shares.ndjson": account_data.read_shares},
    deleted_rows=[shares],
    delete_of_links=store.delete_of_links,
)
