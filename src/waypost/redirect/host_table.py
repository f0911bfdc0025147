"""The routes of custom domains in memory."""

from waypost.redirect.changes import HOST_PREFIX, affects_all
from waypost.redirect.feed import ChangeFeed
from waypost.redirect.route import HOSTNAME, NO_HOST, HostRoute
from waypost.redirect.table import MemoryTable, RouteSource


class HostTable(MemoryTable[HostRoute]):
    """Custom domains, by name. `new_host` makes their routes."""

    def __init__(self, source: RouteSource[HostRoute], feed: ChangeFeed, *, capacity: int) -> None:
        super().__init__(source, feed, capacity=capacity, missing=NO_HOST, key_pattern=HOSTNAME)
        self._misses = [0.0]  # those of links are shown only

    def invalidate(self, change: bytes) -> None:
        """`change`: a host name, a `host_change` or `ALL_ROUTES`."""
        if affects_all(change):
            self.clear()
        else:
            self._evict(change.removeprefix(HOST_PREFIX))
