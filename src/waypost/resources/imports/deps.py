"""Dependencies of imports, set once by the composition root."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.kit.urls import Url
from waypost.redirect import InvalidateRoutes


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    key_ring: KeyRing
    invalidate_routes: InvalidateRoutes
    check_ip: Callable[[Url], Awaitable[None]]
    """`DestinationChecker.check_ip`: raises NotPublic, without a request or DNS lookup."""
    shared_domain: str
    base_url: str
    reserved: frozenset[str]
    """Slugs that no link may have, in lower case."""
    clock: Clock
