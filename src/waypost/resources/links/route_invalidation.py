"""What else changes the routes of links: their pixels and their domains. One message each, however many links."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.redirect import host_change, pixel_change
from waypost.resources.links import store

Publish = Callable[[Sequence[str]], None]


async def pixel_changed(publish: Publish, clock: Clock, tx: Tx, pixel_id: UUID) -> Callable[[], None]:
    """Its links fire something else from now on. Call what this returns after the commit."""
    return await _announced(publish, clock, tx, pixel_change(pixel_id))


async def host_changed(publish: Publish, clock: Clock, tx: Tx, hostname: str) -> Callable[[], None]:
    """A domain and its links are served differently from now on. Call what this returns after the commit."""
    return await _announced(publish, clock, tx, host_change(hostname))


async def host_pages_changed(publish: Publish, clock: Clock, tx: Tx, hostname: str) -> Callable[[], None]:
    """Visits to none of a domain's links lead elsewhere from now on. Call what this returns after the commit."""
    return await _announced(publish, clock, tx, hostname)


async def _announced(publish: Publish, clock: Clock, tx: Tx, told: str) -> Callable[[], None]:
    await store.announce(tx, [told], clock())
    return partial(publish, [told])
