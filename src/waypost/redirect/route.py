"""What a slug leads to, in the form the plane serves it from."""

import math
import re

Route = tuple[bytes, bytes, bytes, float]
"""(host, location, link id as 32 hex digits, expiry in seconds since 1970).

A plain tuple of bytes and a float, because the garbage collector stops tracking those: with a million routes in
memory, a class of our own would cost a pause at every full collection.
"""

NEVER = math.inf
MISSING: Route = (b"", b"", b"", NEVER)
"""Known to lead nowhere: no link, a deleted one, or one that is switched off."""

SLUG = re.compile(rb"[A-Za-z0-9_-]{1,255}")
"""What a slug can be. Anything else leads nowhere, and nobody need be asked."""

_LOCATION = re.compile(rb"https?://[\x21-\x7e]+")


def location_of(destination: str) -> bytes:
    """The bytes of a `Location` header. Raises ValueError for what must never be sent as one (R17).

    A route's bytes are never changed once made, so what passed here is what is sent.
    """
    encoded = destination.encode("ascii")
    if not _LOCATION.fullmatch(encoded):
        raise ValueError(f"not a destination that may be sent: {destination!r}")
    return encoded
