"""Dependencies of links, set once by the composition root."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.fair_queue import FairQueue
from waypost.resources.links.images.media import ImageStore
from waypost.resources.links.routes.changes import Routes

if TYPE_CHECKING:
    from waypost.outbound import DestinationChecker
    from waypost.resources.links.images.encoder import ImageReencoder


def new_bulk_queue() -> FairQueue:
    """Links that wait to be created by requests for many. Each request has few links in it at a time."""
    return FairQueue(64, per_key=4, max_waiting=4_096, max_waiting_per_key=256)


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    destination_checker: "DestinationChecker"
    image_store: ImageStore
    routes: Routes
    shared_domain: str
    base_url: str
    clock: Clock
    reserved: frozenset[str]
    """Slugs that no link may have, in lower case: more of them if short links share the application's host."""
    images: "ImageReencoder"
    accepts_unreachable: bool = False
    """Whether a destination that cannot be reached is accepted."""
    bulk_queue: FairQueue = field(default_factory=new_bulk_queue)
