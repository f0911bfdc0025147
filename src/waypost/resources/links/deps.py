"""Dependencies of links, set once by the composition root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.urls import Url
from waypost.outbound import PagePreview
from waypost.resources.links.images import Studio


class Destinations(Protocol):
    async def inspect(self, url: Url, *, account: UUID) -> PagePreview:
        """Raises NotPublic, Unreachable, Unsafe of `waypost.outbound`."""

    async def fetch_image(self, url: Url, *, account: UUID, max_body: int) -> bytes:
        """Raises the same, and Unreachable where there is none."""

    async def check_url(self, url: Url) -> None:
        """Without a visit. Raises NotPublic, Unsafe."""

    async def check_ip(self, url: Url) -> None:
        """Without a look-up. Raises NotPublic."""


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    destinations: Destinations
    media: Path
    """Directory of the images we host."""
    routes_changed: Callable[[Sequence[str]], None]
    """Called after the commit and before the answer, so that this machine's very next redirect sees the change."""
    shared_domain: str
    base_url: str
    clock: Clock
    reserved: frozenset[str]
    """Slugs, in lower case, that nobody may have: empty unless short links share the application's host."""
    images: Studio = field(default_factory=Studio)

    @property
    def own_hosts(self) -> tuple[str, str]:
        return self.shared_domain, self.base_url.partition("://")[2]
