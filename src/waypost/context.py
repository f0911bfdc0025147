"""What a process has for all packages, made once from the settings. `Deps` of a package adds parts of its own."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.kit.slug_style import SlugStyle

if TYPE_CHECKING:
    from waypost.outbound import Outbound
    from waypost.resources.clicks.store import ClickStore
    from waypost.resources.links.images.media import ImageStore
    from waypost.resources.links.routes.changes import Routes


@dataclass(frozen=True, kw_only=True)
class Context:
    db: Database
    clock: Clock
    base_url: str
    shared_domain: str
    cname_target: str
    """The host that custom domains point to."""
    own_hosts: tuple[str, ...]
    """Hosts of the service itself, without ports. Accounts cannot register these or their subdomains."""
    reserved: frozenset[str]
    """Slugs that no link may have, in lower case."""
    slug_style: SlugStyle
    """Of slugs that are generated on the shared domain."""
    key_ring: KeyRing = field(repr=False)
    outbound: "Outbound"
    routes: "Routes"
    click_store: "ClickStore"
    image_store: "ImageStore"
