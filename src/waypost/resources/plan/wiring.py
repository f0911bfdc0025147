"""What web processes run of plans."""

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.outbound import Outbound
from waypost.resources.plan import api, pages
from waypost.resources.plan.deps import Deps, Price
from waypost.resources.plan.work import new_stripe
from waypost.settings import Settings
from waypost.web import Endpoints
from waypost.web.dashboard import SessionAuth, Views


def new_deps(settings: Settings, db: Database, client: Outbound, clock: Clock) -> Deps:
    secret = settings.stripe_webhook_secret
    offered = (price.partition("=") for price in settings.stripe_prices)
    prices = tuple(Price(label.strip(), price_id.strip()) for label, _, price_id in offered)
    stripe = new_stripe(settings, client)
    return Deps(db, stripe, secret.get_secret_value() if secret else "", prices, settings.base_url, clock)


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps)], pages.PlanPages(deps, auth, views).endpoints())
