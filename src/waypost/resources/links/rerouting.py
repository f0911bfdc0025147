"""For the room below: links whose routes change though nothing was done to the links themselves."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from waypost.database import Tx
from waypost.redirect import TAGGED
from waypost.resources.links import store
from waypost.resources.links.doors import Doors


async def reroute(doors: Doors, tx: Tx, link_ids: Sequence[UUID] | None) -> Callable[[], None]:
    """None: too many to name, so every route with tags is dropped. What it returns is to be called after the commit."""
    slugs = [TAGGED.decode()] if link_ids is None else await store.slugs_of(tx, link_ids)
    await store.announce(tx, slugs, doors.clock())
    return partial(doors.routes_changed, slugs)
