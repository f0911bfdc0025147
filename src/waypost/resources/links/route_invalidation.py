"""Invalidates the cached routes of many links with one message, in the transaction that changes what they share.

Each function returns what the caller has to call after its commit.
"""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.redirect import InvalidateRoutes, host_change, pixel_change
from waypost.resources.links import store


async def invalidate_pixel(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, pixel_id: UUID
) -> Callable[[], None]:
    """Invalidate the routes of all links with this pixel."""
    return await _invalidate(invalidate_routes, clock, tx, pixel_change(pixel_id))


async def invalidate_host(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, hostname: str
) -> Callable[[], None]:
    """Invalidate the route of the host and those of all its links."""
    return await _invalidate(invalidate_routes, clock, tx, host_change(hostname))


async def invalidate_host_pages(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, hostname: str
) -> Callable[[], None]:
    """Invalidate the route of the host, which visits follow that match no link."""
    return await _invalidate(invalidate_routes, clock, tx, hostname)


async def _invalidate(invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, message: str) -> Callable[[], None]:
    await store.record_route_changes(tx, [message], clock())
    return partial(invalidate_routes, [message])
