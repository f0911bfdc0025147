"""Links: a slug on a domain that redirects to a destination. Other packages use what is exported here.

A destination must be reachable and safe; a slug never passes from one account to another.
"""

from waypost.resources.links.account_data import delete_all_for, delete_rows, delete_some, export, ids_after
from waypost.resources.links.deps import Deps
from waypost.resources.links.domain_detach import detach_domain
from waypost.resources.links.model import Link
from waypost.resources.links.route_invalidation import invalidate_host, invalidate_host_pages, invalidate_pixel
from waypost.resources.links.service import find
from waypost.resources.links.store import (
    SHORT_LINKS,
    add_clicks,
    check_exists,
    count_clicks,
    find_accounts,
    find_busy,
    find_names,
    find_wrong_clicks,
    require,
    set_clicks,
)

__all__ = [
    "SHORT_LINKS",
    "Deps",
    "Link",
    "add_clicks",
    "check_exists",
    "count_clicks",
    "delete_all_for",
    "delete_rows",
    "delete_some",
    "detach_domain",
    "export",
    "find",
    "find_accounts",
    "find_busy",
    "find_names",
    "find_wrong_clicks",
    "ids_after",
    "invalidate_host",
    "invalidate_host_pages",
    "invalidate_pixel",
    "require",
    "set_clicks",
]
