"""Links: a slug on a domain that redirects to a destination.

A destination must be reachable and safe; a slug never passes from one account to another.
"""

from waypost.resources.links.click_counters import (
    add_clicks,
    count_clicks,
    count_imported_clicks,
    find_busy,
    find_clicks,
    find_imported_clicks,
    find_wrong_clicks,
    has_clicks,
    set_clicks,
)
from waypost.resources.links.domain_detach import domain_deps
from waypost.resources.links.model import Link
from waypost.resources.links.routes.changes import Routes
from waypost.resources.links.store import (
    SHORT_LINKS,
    count_added,
    find_accounts,
    find_any,
    find_by_address,
    find_by_url,
    find_free_share,
    find_names,
    get,
    lock,
    require_exists,
)
