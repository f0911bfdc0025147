"""Dependencies of links, set once by the composition root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.outbound import DestinationChecker
from waypost.resources.links.images import ImageCleaner

RoutesChanged = Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    destinations: DestinationChecker
    media: Path
    """Directory of hosted images."""
    routes_changed: RoutesChanged
    """Called after the commit and before the response, so that the next redirect on this machine sees the change."""
    shared_domain: str
    base_url: str
    clock: Clock
    reserved: frozenset[str]
    """Slugs, in lower case, that nobody may have: more where short links share the application's host."""
    images: ImageCleaner = field(default_factory=ImageCleaner)
