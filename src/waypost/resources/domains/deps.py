"""Dependencies of domains."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.urls import Url

InvalidateHost = Callable[[Tx, str], Awaitable[None]]
"""Invalidate cached routes of a hostname after the commit."""


class DetachLinks(Protocol):
    async def __call__(self, tx: Tx, account_id: UUID, domain_id: UUID) -> None:
        """Move the links of a deleted domain to the shared domain, some time after the transaction."""


CheckUrl = Callable[[Url], Awaitable[None]]
"""Check that visitors may be redirected there. Raises NotPublic, Unsafe of `waypost.outbound`."""


PointsHere = Callable[[str], Awaitable[bool]]
"""Whether the DNS of a hostname points to this service."""

FindAddresses = Callable[[], Awaitable[Sequence[str]]]
"""The IP addresses of `cname_target`; none if they cannot be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    db: Database
    invalidate_host: InvalidateHost
    """Invalidate the routes of the host and all its links."""
    detach_links: DetachLinks
    cname_target: str
    """The host that custom domains point to."""
    base_url: str
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class WebDeps(Deps):
    """Dependencies of the API and the dashboard."""

    invalidate_host_pages: InvalidateHost
    """Invalidate the root URL and the not-found URL of the host."""
    own_hosts: tuple[str, ...]
    """Hosts of the service itself, without ports. Accounts cannot register these or their subdomains."""
    check_url: CheckUrl
    points_here: PointsHere
    find_addresses: FindAddresses
