"""Dependencies of links."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from waypost.context import Context
from waypost.kit.fair_queue import FairQueue

if TYPE_CHECKING:
    from waypost.outbound import DestinationChecker
    from waypost.resources.links.images.encoder import ImageReencoder


def new_bulk_queue() -> FairQueue:
    """Links that wait to be created by requests for many. Each request has few links in it at a time."""
    return FairQueue(64, per_key=4, max_waiting=4_096, max_waiting_per_key=256)


@dataclass(frozen=True, kw_only=True)
class Deps(Context):
    destination_checker: "DestinationChecker"
    images: "ImageReencoder"
    accepts_unreachable: bool = False
    """Whether a destination that cannot be reached is accepted."""
    bulk_queue: FairQueue = field(default_factory=new_bulk_queue)
