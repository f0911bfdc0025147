"""Makes the dependencies of links, for web processes and for jobs that change links."""

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.reserved import INFRASTRUCTURE, RESERVED
from waypost.outbound import Blocklist, DestinationChecker, Outbound, SafeBrowsing, UrlSafety
from waypost.resources.links.deps import Deps
from waypost.resources.links.images.encoder import ImageReencoder
from waypost.resources.links.routes.changes import Routes
from waypost.resources.links.work import new_image_store
from waypost.settings import Settings


def new_checker(settings: Settings, client: Outbound) -> DestinationChecker:
    key = settings.safe_browsing_key
    safety = UrlSafety(
        Blocklist(settings.blocklist) if settings.blocklist else None,
        SafeBrowsing(client, key.get_secret_value(), str(settings.safe_browsing_url)) if key else None,
    )
    return DestinationChecker(client, safety)


def new_deps(settings: Settings, db: Database, client: Outbound, routes: Routes, clock: Clock) -> Deps:
    return Deps(
        db=db,
        destination_checker=new_checker(settings, client),
        image_store=new_image_store(settings, db, clock),
        routes=routes,
        shared_domain=settings.shared_domain,
        base_url=settings.base_url,
        clock=clock,
        reserved=RESERVED if settings.base_host == settings.shared_domain else INFRASTRUCTURE,
        images=ImageReencoder(),
        accepts_unreachable=settings.destination_check == "lenient",
    )
