"""Dependencies of pixels, set once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.database import Database, KeyRing, Tx
from waypost.kit.clock import Clock


class PixelChanged(Protocol):
    async def __call__(self, tx: Tx, pixel_id: UUID) -> Callable[[], None]:
        """Record that links with this pixel fire something else from now on.

        The caller calls the result after the commit and before the response.
        """


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    keys: KeyRing
    pixel_changed: PixelChanged
    base_url: str
    clock: Clock
