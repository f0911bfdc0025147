"""Server-side events: what a platform is told of a visit by us, besides what its own script told it. The only auth.

Refuses to be on a redirect's path: events are recorded in the transaction that stores the clicks, and sent by a poller.
"""

from waypost.resources.pixels.events.cleanup import delete_unsendable
from waypost.resources.pixels.events.model import PageView
from waypost.resources.pixels.events.outbox import PixelEvent, record_all, with_server_events
from waypost.resources.pixels.events.results import EventResults, results_of
from waypost.resources.pixels.events.sender import EventSender, event_loop

__all__ = [
    "EventResults",
    "EventSender",
    "PageView",
    "PixelEvent",
    "delete_unsendable",
    "event_loop",
    "record_all",
    "results_of",
    "with_server_events",
]
