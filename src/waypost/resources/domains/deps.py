"""Dependencies of domains, set once by the composition root."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.urls import Url


class InvalidateHost(Protocol):
    async def __call__(self, tx: Tx, hostname: str) -> Callable[[], None]:
        """Announces a change to the redirects. Call what it returns after the commit and before the answer."""


class DetachLinks(Protocol):
    async def __call__(self, tx: Tx, account_id: UUID, domain_id: UUID) -> None:
        """Sees to it that the links of a domain that is gone no longer name it."""


CheckUrl = Callable[[Url], Awaitable[None]]
"""Whether visitors may be led there. Raises NotPublic, Unsafe of `waypost.outbound`."""


PointsHere = Callable[[str], Awaitable[bool]]
"""Whether the DNS of a host name leads here."""


async def unknown(_hostname: str) -> bool:
    """The PointsHere of who shows no pages: commands and workers."""
    raise NotImplementedError


async def nowhere(_url: Url) -> None:
    """The CheckUrl of who takes no addresses: commands and workers."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    invalidate_host: InvalidateHost
    """The host and its links are served differently."""
    invalidate_host_pages: InvalidateHost
    """Visits to none of its links lead elsewhere."""
    detach_links: DetachLinks
    own_hosts: tuple[str, ...]
    """Hosts of the service itself, without ports: nobody registers these, or names below them."""
    cname_target: str
    """The host that custom domains point to."""
    base_url: str
    clock: Clock
    check_url: CheckUrl = nowhere
    points_here: PointsHere = unknown
