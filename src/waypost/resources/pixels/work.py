"""What the worker runs of pixels: server-side events."""

from functools import partial

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.outbound import Poster
from waypost.resources.pixels import events
from waypost.settings import Settings
from waypost.worker.run import WorkerParts


def worker_parts(settings: Settings, db: Database, poster: Poster, key_ring: KeyRing) -> WorkerParts:
    urls = {"facebook": settings.meta_url, "tiktok": settings.tiktok_url, "pinterest": settings.pinterest_url}
    api_urls = {platform: str(url) for platform, url in urls.items()}
    sender = events.EventSender(db, key_ring, poster.post, api_urls, clock=now)
    return WorkerParts([sender], [(10, partial(events.delete_unsendable, db, clock=now))])
