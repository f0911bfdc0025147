"""What the processes run of pixels."""

from functools import partial

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.outbound import Poster
from waypost.resources.pixels import api, events, pages
from waypost.resources.pixels.deps import Deps
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views
from waypost.worker.run import WorkerParts


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps, guard)], pages.PixelPages(deps, auth, views).endpoints())


def worker_parts(settings: Settings, db: Database, poster: Poster, key_ring: KeyRing) -> WorkerParts:
    urls = {"facebook": settings.meta_url, "tiktok": settings.tiktok_url, "pinterest": settings.pinterest_url}
    api_urls = {platform: str(url) for platform, url in urls.items()}
    sender = events.EventSender(db, key_ring, poster.post, api_urls, clock=now)
    return WorkerParts([sender], [(10, partial(events.delete_unsendable, db, clock=now))])
