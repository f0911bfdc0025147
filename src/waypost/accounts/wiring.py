"""What web processes run of the account."""

from urllib.parse import urlsplit

from waypost.accounts import RateLimiters, pages
from waypost.accounts.auth_deps import new_deps as new_auth_deps
from waypost.accounts.deps import Deps, ExportDeps
from waypost.accounts.keys import api
from waypost.accounts.sign_in.limiter import SignInLimiter
from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.proxies import is_loopback
from waypost.resources.clicks.click_store import ClickStore
from waypost.resources.links import Routes
from waypost.resources.links.images.media import ImageStore
from waypost.secret_key import derived_key
from waypost.settings import Settings
from waypost.web import Endpoints, Guard
from waypost.web.dashboard import SessionAuth, Views


def new_deps(
    settings: Settings,
    db: Database,
    limiters: RateLimiters,
    routes: Routes,
    click_store: ClickStore,
    image_store: ImageStore,
    clock: Clock,
    *,
    listens_locally: bool,
) -> Deps:
    limiter = SignInLimiter(
        limiters,
        settings.trusted_proxies,
        key=derived_key(settings, "known browsers"),
        is_secure=settings.base_url.startswith("https:"),
        db=db,
    )
    auth = new_auth_deps(settings, db, clock)
    export = ExportDeps(auth, click_store, image_store, settings.shared_domain, settings.cname_host)
    oidc = None
    if settings.oidc_issuer:
        from waypost.accounts.oidc.deps import new_deps as new_oidc_deps  # noqa: PLC0415  # only where it is configured

        oidc = new_oidc_deps(settings, auth)
    is_local = listens_locally and is_loopback(urlsplit(settings.base_url).hostname or "")
    return Deps(auth, limiter, routes, export, is_local, oidc)


def endpoints(deps: Deps, guard: Guard, auth: SessionAuth, views: Views) -> Endpoints:
    api_routers = api.endpoints(deps.auth.db, guard, shared_domain=deps.export.shared_domain, clock=deps.auth.clock)
    return Endpoints([api_routers], pages.endpoints(deps, auth, views))
