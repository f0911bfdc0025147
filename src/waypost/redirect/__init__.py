"""Redirects: answers visits of known links inside the HTTP protocol, and spools each visit before its answer.

Knows routes and visits but no accounts, links or database: the source of routes is passed in.
"""

from waypost.redirect.connections import Connections
from waypost.redirect.feed import ChangeFeed, InvalidateRoutes
from waypost.redirect.plane import Plane
from waypost.redirect.protocol import protocol_for
from waypost.redirect.route import NEVER, Route, new_host, new_route, unserved
from waypost.redirect.spool import Spool
from waypost.redirect.table import HostTable, RouteTable, Source, host_change, pixel_change

__all__ = [
    "NEVER",
    "ChangeFeed",
    "Connections",
    "HostTable",
    "InvalidateRoutes",
    "Plane",
    "Route",
    "RouteTable",
    "Source",
    "Spool",
    "host_change",
    "new_host",
    "new_route",
    "pixel_change",
    "protocol_for",
    "unserved",
]
