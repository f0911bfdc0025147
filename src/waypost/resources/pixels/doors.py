"""What the pixels room needs from the rest of the house, handed in once by the composition root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.database import Database, KeyRing, Tx
from waypost.kit.clock import Clock


class LinksChanged(Protocol):
    async def __call__(self, tx: Tx, link_ids: Sequence[UUID] | None) -> Callable[[], None]:
        """Announces that these links fire something else from now on; None: too many to name.

        What it returns is to be called after the commit and before the answer.
        """


@dataclass(frozen=True, slots=True)
class Doors:
    db: Database
    keys: KeyRing
    links_changed: LinksChanged
    base_url: str
    clock: Clock
