"""For the rooms below: links whose routes change though nothing was done to the links themselves."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.redirect import TAGGED, of_host
from waypost.resources.links import store
from waypost.resources.links.doors import Doors

NAMED_AT_MOST = 200
"""Links of a domain whose routes are dropped one by one."""


async def reroute(doors: Doors, tx: Tx, link_ids: Sequence[UUID] | None) -> Callable[[], None]:
    """None: too many to name, so every route with tags is dropped. What it returns is to be called after the commit."""
    slugs = [TAGGED.decode()] if link_ids is None else await store.slugs_of(tx, link_ids)
    await store.announce(tx, slugs, doors.clock())
    return partial(doors.routes_changed, slugs)


async def host_changed(
    publish: Callable[[Sequence[str]], None], clock: Clock, tx: Tx, hostname: str, *, links_of: UUID | None
) -> Callable[[], None]:
    """For a domain that is served differently from now on. What it returns is to be called after the commit.

    Too many links to name: every process looks through all routes that it has in memory.
    """
    slugs = await store.slugs_on(tx, links_of, NAMED_AT_MOST + 1) if links_of else []
    told = [of_host(hostname)] if len(slugs) > NAMED_AT_MOST else [hostname, *slugs]
    await store.announce(tx, told, clock())
    return partial(publish, told)
