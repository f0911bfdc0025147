"""Custom domains: hostnames that accounts verify and serve their links on. What other packages may use is here.

An unverified hostname is never served, and an unverified registration ends after seven days.
"""

from waypost.resources.domains.account_data import delete_all_for, export
from waypost.resources.domains.deps import CheckUrl, Deps, WebDeps
from waypost.resources.domains.lookups import (
    HostSource,
    find_id,
    hostname_of,
    hostnames_of,
    id_of,
    is_custom_domain,
    is_on_shared_domain,
    join_host,
    move_link,
)

__all__ = [
    "CheckUrl",
    "Deps",
    "HostSource",
    "WebDeps",
    "delete_all_for",
    "export",
    "find_id",
    "hostname_of",
    "hostnames_of",
    "id_of",
    "is_custom_domain",
    "is_on_shared_domain",
    "join_host",
    "move_link",
]
