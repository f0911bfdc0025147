"""What a route has besides its destination and its pixels, if its link has routing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from waypost.redirect.forwarding import Forwarding
from waypost.redirect.pixel_pages import PixelPage

if TYPE_CHECKING:  # loads patterns of user agents, which other links do not need
    from waypost.redirect.routing.rules import Routing


_BYTES_PER_CHARACTER = 4  # of rules in memory; lists of short values take the most
_BYTES_PER_ROUTE = 4_096

DEFAULT_TARGET = "default"
"""The link's own destination in statistics by target."""


class ClickLimit(NamedTuple):
    clicks: int
    version: int
    """Differs after each change of the routing: clicks without a limit must be counted again."""


@dataclass(frozen=True, slots=True)
class RouteOptions:
    routing: "Routing | None" = None
    """None: every visitor gets the link's own destination."""
    starts_at: float = 0.0
    """Seconds since 1970. Until then the link does not resolve."""
    fallback: bytes | None = None
    """The location for visitors of a link that does not resolve now, unless it is switched off."""
    password_version: int | None = None
    """None: the link has no password."""
    click_limit: ClickLimit | None = None
    forwarding: Forwarding | None = None
    """None: neither the visitor's query nor more path goes on."""
    fired: Sequence[tuple[UUID, str, str]] = ()
    """The pixels of a link that forwards, as `pixel_pages.prepare` takes them."""
    pixel_pages: Mapping[bytes, PixelPage] = field(default_factory=dict)
    """The pixel page of each location, if the link has pixels."""
    json_size: int = 0
    """Characters of the rules and variants as JSON."""

    @property
    def weight(self) -> int:
        """As how many routes it counts in the route table, which is bounded. One for most links with routing."""
        pages = sum(len(part) for page in self.pixel_pages.values() for part in page if isinstance(part, bytes))
        return 1 + (self.json_size * _BYTES_PER_CHARACTER + pages) // _BYTES_PER_ROUTE

    @property
    def needs_checks(self) -> bool:
        """Whether more than the route decides about a visit."""
        return self.password_version is not None or self.click_limit is not None

    @property
    def locations(self) -> set[bytes]:
        """Those of rules and variants."""
        if self.routing is None:
            return set()
        rules, variants, _ = self.routing
        return {location for _, location, _ in (*rules, *variants)}
