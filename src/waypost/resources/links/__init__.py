"""Links: a slug on a domain that redirects to a destination.

A destination must be reachable and safe; a slug never passes from one account to another.
"""

from waypost.resources.links.account_data import (
    delete_account_data,
    delete_batch,
    delete_rows,
    export_account_data,
    find_ids_after,
)
from waypost.resources.links.deps import Deps
from waypost.resources.links.domain_detach import detach_domain
from waypost.resources.links.model import Link
from waypost.resources.links.route_invalidation import invalidate_host, invalidate_host_pages, invalidate_pixel
from waypost.resources.links.store import (
    SHORT_LINKS,
    add_clicks,
    count_clicks,
    find_accounts,
    find_busy,
    find_names,
    find_wrong_clicks,
    get,
    require_exists,
    set_clicks,
)

__all__ = [
    "SHORT_LINKS",
    "Deps",
    "Link",
    "add_clicks",
    "count_clicks",
    "delete_account_data",
    "delete_batch",
    "delete_rows",
    "detach_domain",
    "export_account_data",
    "find_accounts",
    "find_busy",
    "find_ids_after",
    "find_names",
    "find_wrong_clicks",
    "get",
    "invalidate_host",
    "invalidate_host_pages",
    "invalidate_pixel",
    "require_exists",
    "set_clicks",
]
