"""Server-side events: the worker reports visits to a platform, in addition to the platform's own script.

Redirects do not wait for it: events are recorded in the transaction that stores the clicks.
"""

from waypost.resources.pixels.events.model import PageView
from waypost.resources.pixels.events.queue import (
    BATCH_DELAY,
    JOBS,
    PixelEvent,
    delete_unsendable,
    enqueue_batches,
    find_with_server_events,
    is_pending,
    record_all,
)
from waypost.resources.pixels.events.sender import EventSender
