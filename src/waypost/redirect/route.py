"""Routes: what slugs, aliases and custom domains lead to, in the form in which redirects keep it in memory."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, NewType
from uuid import UUID

from waypost.redirect import pixel_pages
from waypost.redirect.pixel_pages import PixelPage
from waypost.redirect.route_options import RouteOptions

Route = NewType("Route", tuple[bytes, bytes, float, PixelPage | None, tuple[bytes, ...], RouteOptions | None])
"""Of a link: (host, id and location, expiry in seconds since 1970, pixel page, ids of its pixels in hex, options).

The id of the link in hex and its location are one object, because each object costs another cache miss.
The ids include pixels that cannot fire now: a change of platform_id changes the route.

A plain tuple, because the garbage collector stops tracking it: with a million routes in memory, a class would cost a
pause at every full collection. A type of its own, because mypyc copies the elements of other tuples wherever they are
passed.
"""

AliasRoute = NewType("AliasRoute", tuple[bytes, bytes, bytes])
"""(host, id of the link in hex, slug of the link). A plain tuple like Route."""

NearRoute = NewType("NearRoute", tuple[bytes, bytes, bytes, bytes])
"""(host, case-folded address, id of the link in hex, slug of the link). A plain tuple like Route."""


class HostRoute(NamedTuple):
    """A custom domain."""

    root: bytes
    """The location of `/`, or empty."""
    not_found: bytes
    """The location of unknown paths, or empty."""
    has_aliases: bool
    has_app_links: bool
    ignores_case: bool
    """Whether visitors reach a link by its address in other case."""
    has_appearance: bool
    """Whether its pages have a name, a color, texts or a logo of their own."""


APPLE_PATH = b".well-known/apple-app-site-association"
GOOGLE_PATH = b".well-known/assetlinks.json"
"""Where iOS and Android request the documents that say which apps open the links of a domain."""

LOGO_PATH = b".well-known/waypost-logo.png"
"""Where the pages of a domain have its logo."""

ID_SIZE: Final = 32
"""Hex digits of the id before a location."""

NEVER = math.inf
DISABLED = 0.0
"""The expiry of a disabled link: an alias with the path of its slug must not lead to another link meanwhile."""
MISSING: Final = Route((b"", b"", DISABLED, None, (), None))
"""The slug has no link, or its link is deleted."""
NO_ALIAS: Final = AliasRoute((b"", b"", b""))
NO_NEAR: Final = NearRoute((b"", b"", b"", b""))
NO_HOST: Final = HostRoute(b"", b"", has_aliases=False, has_app_links=False, ignores_case=False, has_appearance=False)

DISABLED_PREFIX: Final = b" "
"""Prefix of a custom domain that is not served now. No request can name such a host."""


def disabled_host(host: bytes) -> bytes:
    return DISABLED_PREFIX + host


SLUG = re.compile(rb"[A-Za-z0-9_-]{1,255}")
"""Any other slug is missing without a query of the source."""
HOSTNAME = re.compile(rb"(?=.{4,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
"""Any custom domain. No slug matches, so both can share the change feed."""

_LOCATION = re.compile(rb"https?://[\x21-\x7e]+", re.IGNORECASE)


def new_route(
    host: bytes,
    destination: str,
    link: UUID,
    expires_at: float = NEVER,
    pixels: Sequence[tuple[UUID, str, str | None]] = (),
    options: RouteOptions | None = None,
) -> Route:
    """Return a route. `pixels`: (our id, platform, the platform's id or None if it does not fire), in the link's order.

    Raises ValueError for a destination that must not be sent as a `Location`. The bytes checked here are the bytes
    sent: a route never changes.
    """
    location = new_location(destination)
    fired = [(id_, platform, platform_id) for id_, platform, platform_id in pixels if platform_id is not None]
    pixel_page = pixel_pages.prepare(destination, fired) if fired else None
    if options and fired:
        pages = {other: pixel_pages.prepare(other.decode(), fired) for other in options.locations}
        options = replace(options, pixel_pages=pages, fired=tuple(fired) if options.forwarding else ())
    pixel_ids = tuple(id_.hex.encode() for id_, _, _ in pixels)
    return Route((host, link.hex.encode() + location, expires_at, pixel_page, pixel_ids, options))


def new_alias(host: bytes, slug: str, link: UUID) -> AliasRoute:
    return AliasRoute((host, link.hex.encode(), slug.encode()))


def new_near(host: bytes, folded: bytes, slug: str, link: UUID) -> NearRoute:
    return NearRoute((host, folded, link.hex.encode(), slug.encode()))


def new_host(
    root_url: str | None,
    not_found_url: str | None,
    *,
    has_aliases: bool = False,
    has_app_links: bool = False,
    ignores_case: bool = True,
    has_appearance: bool = False,
) -> HostRoute:
    """Raises ValueError like `new_route`."""
    root, not_found = (new_location(url) if url else b"" for url in (root_url, not_found_url))
    return HostRoute(root, not_found, has_aliases, has_app_links, ignores_case, has_appearance)


def new_location(url: str) -> bytes:
    """Return the URL as it is sent. Raises ValueError for one that must not be sent as a `Location`."""
    location = url.encode("ascii")
    if not _LOCATION.fullmatch(location):
        raise ValueError(f"not a valid Location: {url}")
    return location


def host_of(route: Route) -> bytes:
    host, _, _, _, _, _ = route
    return host


def link_of(route: Route) -> bytes:
    """Return the id of the link in hex."""
    _, id_and_location, _, _, _, _ = route
    return id_and_location[:ID_SIZE]


def location_of(route: Route) -> bytes:
    """Return the link's own destination."""
    _, id_and_location, _, _, _, _ = route
    return id_and_location[ID_SIZE:]


def forwards_path(route: Route) -> bool:
    _, _, _, _, _, options = route
    return options is not None and options.forwarding is not None and options.forwarding.has_path


def options_of(route: Route) -> RouteOptions | None:
    _, _, _, _, _, options = route
    return options
