"""Dependencies of pixels, set once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.database import Database, KeyRing, Tx
from waypost.kit.clock import Clock


class InvalidatePixel(Protocol):
    async def __call__(self, tx: Tx, pixel_id: UUID) -> Callable[[], None]:
        """Invalidate the routes of all links with this pixel. Call the result after the commit, before the response."""


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    key_ring: KeyRing
    invalidate_pixel: InvalidatePixel
    base_url: str
    clock: Clock
