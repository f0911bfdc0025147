"""What a link's page fires: the platforms' ids in the clear, for routes and for nobody else."""

import re
from collections.abc import Iterable
from uuid import UUID

import structlog

from waypost.database import KeyRing, Sealed
from waypost.database.secrets import Undecipherable
from waypost.resources.pixels.model import pixels

_FORM = re.compile(r"[\w./-]{1,64}", re.ASCII)
_FORMS = {"google_ads": re.compile(r"(?:AW|DC|G|GT)-[A-Z0-9-]{1,40}", re.ASCII | re.IGNORECASE)}

log = structlog.get_logger(__name__)


def is_id_of(platform: str, text: str) -> bool:
    """Whether it can be one: what cannot is kept, but never fired."""
    return bool(_FORMS.get(platform, _FORM).fullmatch(text))


class Tags:
    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._told: set[UUID] = set()

    def opened(self, sealed: Iterable[tuple[UUID, str, bytes]]) -> list[tuple[UUID, str, str]]:
        """(our id, platform, the platform's id) of each; without those that no key opens, of which the log tells once,
        and without what is no id of its platform: at Google a container of the owner's own scripts could be named.

        A link leads where it leads, whatever becomes of its pixels.
        """
        found = ((id_, platform, self._open(id_, value)) for id_, platform, value in sealed)
        return [(id_, platform, text) for id_, platform, text in found if text and is_id_of(platform, text)]

    def _open(self, id_: UUID, value: bytes) -> str | None:
        try:
            return self._keys.open(pixels.c.pixel_id, id_, Sealed(value))
        except Undecipherable:
            if id_ not in self._told:
                log.warning("pixel does not fire: no key of WAYPOST_SECRET_KEY opens it", pixel=str(id_))
            self._told.add(id_)
            return None
