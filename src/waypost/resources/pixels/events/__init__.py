"""Server-side events: what a platform is told of a visit by us, besides what its own script told it. The only door.

Refuses to be on a redirect's path: events are enqueued in the transaction that stores the clicks, and sent by a job.
"""

from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.events.queue import JOB, send_later, wanted
from waypost.resources.pixels.events.results import Results, results_of
from waypost.resources.pixels.events.sending import EventSender

__all__ = ["JOB", "Event", "EventSender", "Results", "results_of", "send_later", "wanted"]
