"""What a slug leads to, in the form the plane serves it from."""

import math
import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from waypost.redirect import pixel_pages
from waypost.redirect.pixel_pages import PixelPage

Route = tuple[bytes, bytes, float, PixelPage | None, tuple[bytes, ...]]
"""(host, the link's id and its location, expiry in seconds since 1970, what its page fires, ids of its pixels in hex).

Plain tuples of bytes and a float, because the garbage collector stops tracking those: with a million routes in
memory, a class of our own would cost a pause at every full collection. Id and location share an object, because each
one more is a cache line more to wait for.
"""

HOST: Final = 0
LINK = slice(32)
LOCATION = slice(32, None)
"""Where in a route's second part: the id is 32 hex digits."""
PIXEL_PAGE: Final = 3
PIXELS: Final = 4
"""Also of pixels that cannot be fired for now: a change of theirs is a change of the route."""

NEVER = math.inf
MISSING: Route = (b"", b"", NEVER, None, ())
"""Known to lead nowhere: no link, a deleted one, or one that is switched off."""


UNSERVED: Final = b" "
"""Before a route's host: it is not served for now. No request can name such a host."""


def unserved(host: bytes) -> bytes:
    return UNSERVED + host


SLUG = re.compile(rb"[A-Za-z0-9_-]{1,255}")
"""What a slug can be. Anything else leads nowhere, and nobody need be asked."""
HOSTNAME = re.compile(rb"(?=.{4,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
"""What a custom domain can be. No slug is one, so that both can be told in the same news."""

_LOCATION = re.compile(rb"https?://[\x21-\x7e]+")
_NO_LINK = b"0" * 32


def new_route(
    host: bytes,
    destination: str,
    link: UUID,
    expires_at: float = NEVER,
    pixels: Sequence[tuple[UUID, str, str | None]] = (),
) -> Route:
    """`pixels`: (our id, platform, what its tag is given or None: it does not fire), in the link's order.

    Raises ValueError for a destination that must never be sent as a `Location` (R17).

    A route's bytes are never changed once made, so what passed here is what is sent.
    """
    location = _location(destination)
    fired = [(id_, platform, theirs) for id_, platform, theirs in pixels if theirs is not None]
    pixel_page = pixel_pages.prepare(destination, fired) if fired else None
    return host, link.hex.encode() + location, expires_at, pixel_page, tuple(id_.hex.encode() for id_, _, _ in pixels)


def new_host(host: bytes, root_url: str | None, not_found_url: str | None) -> Route:
    """Of a custom domain: in place of a location both URLs, each empty for none, with a blank between.

    Raises ValueError as `new_route`.
    """
    root, unknown = (_location(url) if url else b"" for url in (root_url, not_found_url))
    return host, _NO_LINK + root + b" " + unknown, NEVER, None, ()


def _location(url: str) -> bytes:
    location = url.encode("ascii")
    if not _LOCATION.fullmatch(location):
        raise ValueError(f"not a destination that may be sent: {url!r}")
    return location
