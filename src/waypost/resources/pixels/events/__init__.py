"""Server-side events: what a platform is told of a visit by us, besides what its own script told it. The only auth.

Refuses to be on a redirect's path: events are recorded in the transaction that stores the clicks, and sent by a poller.
"""

from waypost.resources.pixels.events.cleanup import delete_unsendable
from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.outbox import Addressed, record_all, wanted
from waypost.resources.pixels.events.results import EventResults, results_of
from waypost.resources.pixels.events.sender import EventSender, event_loop

__all__ = [
    "Addressed",
    "Event",
    "EventResults",
    "EventSender",
    "delete_unsendable",
    "event_loop",
    "record_all",
    "results_of",
    "wanted",
]
