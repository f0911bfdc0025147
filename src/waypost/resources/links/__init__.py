"""Links: a slug on a domain that leads to a destination. The room's only door.

Refuses destinations it cannot reach or that warn of themselves, and slugs that anybody else ever had.
"""

from waypost.resources.links.counters import accounts_of, add_clicks
from waypost.resources.links.doors import Doors
from waypost.resources.links.lookups import names, require
from waypost.resources.links.model import Link, links
from waypost.resources.links.rerouting import reroute
from waypost.resources.links.routes import PostgresRoutes, SqliteRoutes
from waypost.resources.links.service import browse, change, create, delete, find

__all__ = [
    "Doors",
    "Link",
    "PostgresRoutes",
    "SqliteRoutes",
    "accounts_of",
    "add_clicks",
    "browse",
    "change",
    "create",
    "delete",
    "find",
    "links",
    "names",
    "require",
    "reroute",
]
