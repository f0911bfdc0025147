"""Invalidate the routes of many links with one message, when one of their pixels or their domain changes.

Each function returns what the caller has to call after its commit.
"""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.redirect import host_change, pixel_change
from waypost.resources.links import store

Publish = Callable[[Sequence[str]], None]


async def pixel_changed(publish: Publish, clock: Clock, tx: Tx, pixel_id: UUID) -> Callable[[], None]:
    return await _invalidate(publish, clock, tx, pixel_change(pixel_id))


async def host_changed(publish: Publish, clock: Clock, tx: Tx, hostname: str) -> Callable[[], None]:
    """The domain is served differently, and so are its links."""
    return await _invalidate(publish, clock, tx, host_change(hostname))


async def host_pages_changed(publish: Publish, clock: Clock, tx: Tx, hostname: str) -> Callable[[], None]:
    """Visits of the domain that match no link lead elsewhere; its links are as before."""
    return await _invalidate(publish, clock, tx, hostname)


async def _invalidate(publish: Publish, clock: Clock, tx: Tx, message: str) -> Callable[[], None]:
    await store.announce(tx, [message], clock())
    return partial(publish, [message])
