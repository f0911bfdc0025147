"""What the processes run of links."""

from typing import TYPE_CHECKING

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.reserved import INFRASTRUCTURE, RESERVED
from waypost.outbound import Blocklist, DestinationChecker, Outbound, SafeBrowsing, UrlSafety
from waypost.redirect import InvalidateRoutes
from waypost.resources.links import api, media, pages
from waypost.resources.links.deps import Deps
from waypost.resources.links.image_files import ImageFiles
from waypost.resources.links.media import ImageStore
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.resources.links.image_rows import ImageRows


def new_deps(
    settings: Settings, db: Database, client: Outbound, invalidate_routes: InvalidateRoutes, clock: Clock
) -> Deps:
    key = settings.safe_browsing_key
    safety = UrlSafety(
        Blocklist(settings.blocklist) if settings.blocklist else None,
        SafeBrowsing(client, key.get_secret_value(), str(settings.safe_browsing_url)) if key else None,
    )
    return Deps(
        db=db,
        destination_checker=DestinationChecker(client, safety),
        image_store=new_image_store(settings, db, clock),
        invalidate_routes=invalidate_routes,
        shared_domain=settings.shared_domain,
        base_url=settings.base_url,
        clock=clock,
        reserved=RESERVED if settings.base_host == settings.shared_domain else INFRASTRUCTURE,
    )


def new_image_store(settings: Settings, db: Database, clock: Clock) -> ImageStore:
    return ImageFiles(settings.data_dir / "media") if db.dialect == "sqlite" else _image_rows(settings, db, clock)


def _image_rows(settings: Settings, db: Database, clock: Clock) -> "ImageRows":
    from waypost.resources.links.image_rows import ImageRows  # noqa: PLC0415  # not loaded on SQLite

    return ImageRows(db, settings.data_dir, clock)


def worker_parts(settings: Settings, db: Database, clock: Clock) -> WorkerParts:
    if db.dialect == "sqlite":
        return WorkerParts()
    rows = _image_rows(settings, db, clock)
    return WorkerParts(periodic=[(60, rows.clean_cache), (3600, rows.move_files), (3600, rows.delete_unused)])


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views, *, sparklines: pages.Sparklines) -> Endpoints:
    api_routers = [api.endpoints(deps, guard), media.endpoints(deps.image_store)]
    return Endpoints(api_routers, pages.LinkPages(deps, auth, views, sparklines).endpoints())
