"""What the processes run of plans."""

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.outbound import Outbound
from waypost.resources.plan import api, pages
from waypost.resources.plan.deps import Deps, Price
from waypost.resources.plan.stripe import Stripe
from waypost.settings import Settings
from waypost.web import Endpoints
from waypost.web.dashboard import SessionAuth, Views


def new_deps(settings: Settings, db: Database, client: Outbound, clock: Clock) -> Deps:
    key, secret = settings.stripe_secret_key, settings.stripe_webhook_secret
    stripe = Stripe(client, key.get_secret_value(), str(settings.stripe_url)) if key and secret else None
    offered = (price.partition("=") for price in settings.stripe_prices)
    prices = tuple(Price(label.strip(), price_id.strip()) for label, _, price_id in offered)
    return Deps(db, stripe, secret.get_secret_value() if secret else "", prices, settings.base_url, clock)


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> Endpoints:
    return Endpoints([api.endpoints(deps)], pages.PlanPages(deps, auth, views).endpoints())
