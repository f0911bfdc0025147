"""What a slug leads to, in the form the plane serves it from."""

import math
import re
from uuid import UUID

Route = tuple[bytes, bytes, float]
"""(host, the link's id and its location, expiry in seconds since 1970).

A plain tuple of bytes and a float, because the garbage collector stops tracking those: with a million routes in
memory, a class of our own would cost a pause at every full collection. Id and location share an object, because each
one more is a cache line more to wait for.
"""

LINK = slice(32)
LOCATION = slice(32, None)
"""Where in a route's second part: the id is 32 hex digits."""

NEVER = math.inf
MISSING: Route = (b"", b"", NEVER)
"""Known to lead nowhere: no link, a deleted one, or one that is switched off."""

SLUG = re.compile(rb"[A-Za-z0-9_-]{1,255}")
"""What a slug can be. Anything else leads nowhere, and nobody need be asked."""

_LOCATION = re.compile(rb"https?://[\x21-\x7e]+")


def new_route(host: bytes, destination: str, link: UUID, expires_at: float = NEVER) -> Route:
    """Raises ValueError for a destination that must never be sent as a `Location` (R17).

    A route's bytes are never changed once made, so what passed here is what is sent.
    """
    location = destination.encode("ascii")
    if not _LOCATION.fullmatch(location):
        raise ValueError(f"not a destination that may be sent: {destination!r}")
    return host, link.hex.encode() + location, expires_at
