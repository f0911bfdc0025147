"""Redirects: responds to visits of known links inside the HTTP protocol, and spools each visit before its response.

Knows routes and visits, but no accounts, links or database: the source of routes is passed in.
"""

from waypost.redirect.aliases import AliasTable, alias_change, path_digest
from waypost.redirect.changes import ALL_NEAR, ALL_ROUTES, host_change, pixel_change
from waypost.redirect.feed import ChangeFeed, InvalidateRoutes
from waypost.redirect.host_table import HostTable
from waypost.redirect.missed import MissedAddresses, MissedVisits
from waypost.redirect.near import NearTable, fold, near_change
from waypost.redirect.pages import Appearance
from waypost.redirect.route import (
    DISABLED,
    NEVER,
    AliasRoute,
    HostRoute,
    NearRoute,
    Route,
    disabled_host,
    new_alias,
    new_host,
    new_location,
    new_near,
    new_route,
)
from waypost.redirect.route_options import DEFAULT_TARGET, ClickLimit, RouteOptions
from waypost.redirect.spool import Spool
from waypost.redirect.state import RedirectState
from waypost.redirect.table import MemoryTable, RouteSource, RouteTable
