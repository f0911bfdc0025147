"""Dependencies of links, set once by the composition root."""

from dataclasses import dataclass, field
from pathlib import Path

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.outbound import DestinationChecker
from waypost.redirect import InvalidateRoutes
from waypost.resources.links.images import ImageCleaner


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    destinations: DestinationChecker
    media: Path
    """Directory of hosted images."""
    invalidate_routes: InvalidateRoutes
    """Called after the commit and before the response."""
    shared_domain: str
    base_url: str
    clock: Clock
    reserved: frozenset[str]
    """Slugs, in lower case, that nobody may have: more where short links share the application's host."""
    images: ImageCleaner = field(default_factory=ImageCleaner)
