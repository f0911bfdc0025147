"""What web processes run of imports."""

from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock
from waypost.resources import domains
from waypost.resources.imports.pages import ImportPages
from waypost.resources.imports.requests.deps import Deps
from waypost.resources.imports.requests.uploads import new_uploads
from waypost.settings import Settings
from waypost.web import Endpoints
from waypost.web.dashboard import SessionAuth, Views


def new_deps(settings: Settings, db: Database, key_ring: KeyRing, domain_deps: domains.WebDeps, clock: Clock) -> Deps:
    return Deps(db, key_ring, new_uploads(db, settings.data_dir), domain_deps, settings.shared_domain, clock)


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([], ImportPages(deps, auth, views).endpoints())
