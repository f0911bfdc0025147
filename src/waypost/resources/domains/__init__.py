"""Custom domains: hostnames that accounts verify and serve their links on.

An unverified hostname is never served, and an unverified registration ends after seven days.
"""

from waypost.resources.domains.app_links.store import find_app_links
from waypost.resources.domains.appearance.store import find_appearance, find_logo
from waypost.resources.domains.deps import Deps, WebDeps
from waypost.resources.domains.lookups import (
    HostSource,
    change_links_counts,
    find_by_hostname,
    find_custom_domains,
    find_default,
    find_hostnames,
    find_id,
    find_state,
    find_unserved,
    hostname_subquery,
    hostnames_subquery,
    id_subquery,
    is_custom_domain,
    is_on_shared_domain,
    join_host,
    lock_id,
    select_ids,
    served_id_subquery,
)
from waypost.resources.domains.names import readable
from waypost.resources.domains.options.store import find_slug_styles
