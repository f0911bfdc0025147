"""The fast plane: answers a visit of a known link inside the HTTP protocol and spools it before the answer leaves.

Knows routes and visits, nothing of accounts, links or the database: where routes come from is handed in.
"""

from waypost.redirect.feed import ChangeFeed
from waypost.redirect.plane import Plane
from waypost.redirect.protocol import protocol_for
from waypost.redirect.route import NEVER, Route, new_route
from waypost.redirect.spool import Spool
from waypost.redirect.table import TAGGED, RouteTable, Source

__all__ = [
    "NEVER",
    "TAGGED",
    "ChangeFeed",
    "Plane",
    "Route",
    "RouteTable",
    "Source",
    "Spool",
    "new_route",
    "protocol_for",
]
