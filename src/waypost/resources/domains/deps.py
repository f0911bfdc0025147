"""Dependencies of domains."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.context import Context
from waypost.database import Tx
from waypost.kit.slug_style import SlugStyle
from waypost.kit.urls import Url


class DetachLinks(Protocol):
    async def __call__(self, tx: Tx, account_id: UUID, domain_id: UUID) -> None:
        """Move the links of a deleted domain to the shared domain, some time after the transaction."""


CheckUrl = Callable[[Url], Awaitable[None]]
"""Check that visitors may be redirected there. Raises NotPublic, Unsafe of `waypost.outbound`."""


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    detach_links: DetachLinks


@dataclass(frozen=True, kw_only=True)
class WebDeps(Deps):
    """Dependencies of the API and the dashboard."""

    check_url: CheckUrl
    points_here: Callable[[str], Awaitable[bool]]
    """Whether the DNS of a hostname points to this service."""
    find_addresses: Callable[[], Awaitable[Sequence[str]]]
    """The IP addresses of `cname_target`; none if they cannot be found."""
    find_free_share: Callable[[SlugStyle], Awaitable[float]]
    """Which share of the slugs of a style is free, approximately."""
