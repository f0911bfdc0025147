"""Routes: what a slug leads to, in the form in which redirects keep it in memory."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NewType
from uuid import UUID

from waypost.redirect import pixel_pages
from waypost.redirect.pixel_pages import PixelPage
from waypost.redirect.route_options import Routed

Route = NewType("Route", tuple[bytes, bytes, float, PixelPage | None, tuple[bytes, ...], Routed | None])
"""(host, id and location of the link, expiry in seconds since 1970, pixel page, ids of its pixels in hex, routing).

Plain tuples of bytes and a float, because the garbage collector stops tracking them: with a million routes in memory,
a class would cost a pause at every full collection. Id and location share an object, because each object costs another
cache miss. A type of its own, because mypyc copies the elements of other tuples wherever they are passed.
"""

HOST: Final = 0
TARGET: Final = 1
EXPIRES_AT: Final = 2
ID_SIZE: Final = 32
"""Hex digits of the id in TARGET."""
LINK_ID = slice(ID_SIZE)
LOCATION = slice(ID_SIZE, None)
"""Slices of TARGET. Modules that mypyc compiles write `[:ID_SIZE]`: it takes any other object for a number."""
PIXEL_PAGE: Final = 3
PIXELS: Final = 4
"""Includes pixels that cannot fire now: a change of platform_id changes the route."""
ROUTED: Final = 5

HAS_ALIASES: Final = 4
"""In the route of a host: not empty if links have aliases on it."""

NEVER = math.inf
DISABLED = 0.0
"""The expiry of a disabled link: an alias with the path of its slug must not lead to another link meanwhile."""
MISSING: Final = Route((b"", b"", NEVER, None, (), None))
"""The slug has no link, or its link is deleted."""

DISABLED_PREFIX: Final = b" "
"""Prefix of a custom domain that is not served now. No request can name such a host."""


def disabled_host(host: bytes) -> bytes:
    return DISABLED_PREFIX + host


SLUG = re.compile(rb"[A-Za-z0-9_-]{1,255}")
"""Any other slug is missing without a query of the source."""
HOSTNAME = re.compile(rb"(?=.{4,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
"""Any custom domain. No slug matches, so both can share the change feed."""

_LOCATION = re.compile(rb"https?://[\x21-\x7e]+", re.IGNORECASE)
NO_ID = b"0" * 32
"""In the route of a host: it has no app links."""


def new_route(
    host: bytes,
    destination: str,
    link: UUID,
    expires_at: float = NEVER,
    pixels: Sequence[tuple[UUID, str, str | None]] = (),
    routed: Routed | None = None,
) -> Route:
    """Return a route. `pixels`: (our id, platform, the platform's id or None if it does not fire), in the link's order.

    Raises ValueError for a destination that must not be sent as a `Location`. The bytes checked here are the bytes
    sent: a route never changes.
    """
    location = new_location(destination)
    fired = [(id_, platform, platform_id) for id_, platform, platform_id in pixels if platform_id is not None]
    pixel_page = pixel_pages.prepare(destination, fired) if fired else None
    if routed and fired:
        pages = {other: pixel_pages.prepare(other.decode(), fired) for other in routed.locations}
        routed = replace(routed, pixel_pages=pages)
    pixel_ids = tuple(id_.hex.encode() for id_, _, _ in pixels)
    return Route((host, link.hex.encode() + location, expires_at, pixel_page, pixel_ids, routed))


def new_alias(host: bytes, slug: str, link: UUID) -> Route:
    """Return the route of an alias. Its location is the slug of its link."""
    return Route((host, link.hex.encode() + slug.encode(), NEVER, None, (), None))


def new_host(
    host: bytes,
    root_url: str | None,
    not_found_url: str | None,
    *,
    has_aliases: bool = False,
    app_links: UUID | None = None,
) -> Route:
    """Return the route of a custom domain. Its location is both URLs, separated by a space; an empty one is unset.

    `app_links`: the version of its app links, which takes the place of the link's id.

    Raises ValueError like `new_route`.
    """
    root, not_found = (new_location(url) if url else b"" for url in (root_url, not_found_url))
    id_ = app_links.hex.encode() if app_links else NO_ID
    return Route((host, id_ + root + b" " + not_found, NEVER, None, (b"1",) if has_aliases else (), None))


def new_location(url: str) -> bytes:
    """Return the URL as it is sent. Raises ValueError for one that must not be sent as a `Location`."""
    location = url.encode("ascii")
    if not _LOCATION.fullmatch(location):
        raise ValueError(f"not a valid Location: {url}")
    return location
