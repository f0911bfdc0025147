"""Invalidates the cached routes of many links with few messages, in the transaction that changes what they share.

Each function returns what the caller has to call after its commit.
"""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.redirect import ALL_ROUTES, InvalidateRoutes, host_change, pixel_change
from waypost.resources import domains
from waypost.resources.links import store
from waypost.resources.links.model import NOT_DELETED, links

_MAX_CHANGES = 2_000
"""Of an account with more links and domains, all routes are invalidated, of other accounts as well."""


async def invalidate_pixel(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, pixel_id: UUID
) -> Callable[[], None]:
    """Invalidate the routes of all links with this pixel."""
    return await _invalidate(invalidate_routes, clock, tx, [pixel_change(pixel_id)])


async def invalidate_host(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, hostname: str
) -> Callable[[], None]:
    """Invalidate the route of the host and those of all its links."""
    return await _invalidate(invalidate_routes, clock, tx, [host_change(hostname)])


async def invalidate_host_pages(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, hostname: str
) -> Callable[[], None]:
    """Invalidate the route of the host, which visits follow that match no link."""
    return await _invalidate(invalidate_routes, clock, tx, [hostname])


async def invalidate_account(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, account_id: UUID
) -> Callable[[], None]:
    """Invalidate the routes of all links and domains of the account."""
    query = select(links.c.slug).where(links.c.account_id == account_id, NOT_DELETED)
    slugs = await tx.scalars(query.limit(_MAX_CHANGES + 1))
    hostnames = await domains.find_hostnames(tx, account_id, limit=_MAX_CHANGES + 1)
    changes = [*slugs, *(host_change(hostname) for hostname in hostnames)]
    return await _invalidate(invalidate_routes, clock, tx, changes if len(changes) <= _MAX_CHANGES else [ALL_ROUTES])


async def _invalidate(
    invalidate_routes: InvalidateRoutes, clock: Clock, tx: Tx, messages: Sequence[str]
) -> Callable[[], None]:
    await store.record_route_changes(tx, messages, clock())
    return partial(invalidate_routes, messages)
