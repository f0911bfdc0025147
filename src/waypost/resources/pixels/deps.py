"""Dependencies of pixels, set once by the composition root."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from waypost.database import Database, KeyRing, Tx
from waypost.kit.clock import Clock


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    key_ring: KeyRing
    invalidate_pixel: Callable[[Tx, UUID], Awaitable[None]]
    """Invalidate the routes of all links with this pixel after the commit."""
    base_url: str
    clock: Clock
