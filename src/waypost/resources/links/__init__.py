"""Links: a slug on a domain that leads to a destination. The room's only auth.

Refuses destinations it cannot reach or that warn of themselves, and slugs that anybody else ever had.
"""

from waypost.resources.links.counters import accounts_of, add_clicks, all_clicks, busy
from waypost.resources.links.deps import Deps
from waypost.resources.links.domain_detach import free_links
from waypost.resources.links.lookups import names, require
from waypost.resources.links.model import HOSTNAME, Link, links
from waypost.resources.links.route_invalidation import host_changed, host_pages_changed, pixel_changed
from waypost.resources.links.routes import PostgresRoutes, SqliteRoutes
from waypost.resources.links.service import change, create, delete, find

__all__ = [
    "HOSTNAME",
    "Deps",
    "Link",
    "PostgresRoutes",
    "SqliteRoutes",
    "accounts_of",
    "add_clicks",
    "all_clicks",
    "busy",
    "change",
    "create",
    "delete",
    "find",
    "free_links",
    "host_changed",
    "host_pages_changed",
    "links",
    "names",
    "pixel_changed",
    "require",
]
