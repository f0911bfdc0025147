"""What a link's page fires: the platforms' ids in the clear, for routes and for nobody else."""

from collections.abc import Iterable
from uuid import UUID

import structlog

from waypost.database import KeyRing, Sealed
from waypost.database.secrets import Undecipherable
from waypost.resources.pixels.model import pixels
from waypost.resources.pixels.platforms import tag_id

log = structlog.get_logger(__name__)


class PixelTags:
    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._told: set[UUID] = set()

    def opened(self, sealed: Iterable[tuple[UUID, str, bytes]]) -> list[tuple[UUID, str, str | None]]:
        """(our id, platform, what the platform's tag is given) of each. None for what no key opens, which is logged
        once: a link leads where it leads, whatever becomes of its pixels.
        """
        found = ((id_, platform, self._open(id_, value)) for id_, platform, value in sealed)
        return [(id_, platform, None if text is None else tag_id(platform, text)) for id_, platform, text in found]

    def _open(self, id_: UUID, value: bytes) -> str | None:
        try:
            return self._keys.open(pixels.c.pixel_id, id_, Sealed(value))
        except Undecipherable:
            if id_ not in self._told:
                log.warning("pixel does not fire: no key of WAYPOST_SECRET_KEY opens it", pixel=str(id_))
            self._told.add(id_)
            return None
