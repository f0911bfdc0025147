"""Decrypts the platforms' ids that a link's page fires, for routes only."""

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
        self._logged: set[UUID] = set()

    def decrypt(self, sealed: Iterable[tuple[UUID, str, bytes]]) -> list[tuple[UUID, str, str | None]]:
        """(pixel id, platform, id for the platform's tag) of each. None if no key decrypts it, which is logged once:
        the link redirects without that pixel.
        """
        found = ((id_, platform, self._decrypt(id_, value)) for id_, platform, value in sealed)
        return [(id_, platform, None if text is None else tag_id(platform, text)) for id_, platform, text in found]

    def _decrypt(self, id_: UUID, value: bytes) -> str | None:
        try:
            return self._keys.open(pixels.c.pixel_id, id_, Sealed(value))
        except Undecipherable:
            if id_ not in self._logged:
                log.warning("pixel does not fire: no key of WAYPOST_SECRET_KEY decrypts its id", pixel=str(id_))
            self._logged.add(id_)
            return None
