"""The parts of plans."""

from functools import partial
from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.settings import Settings
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.outbound import Outbound
    from waypost.resources.plan.stripe import Stripe
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.plan import api, pages
    from waypost.resources.plan.deps import Deps, Price
    from waypost.web import Endpoints

    settings = web.settings
    secret = settings.stripe_webhook_secret
    offered = (price.partition("=") for price in settings.stripe_prices)
    deps = Deps(
        **vars(web.context),
        stripe=new_stripe(settings, web.context.outbound),
        webhook_secret=secret.get_secret_value() if secret else "",
        prices=tuple(Price(label.strip(), price_id.strip()) for label, _, price_id in offered),
    )
    return Endpoints(pages=pages.PlanPages(deps, web.auth, web.views).endpoints(), routes=[api.route(deps)])


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources import plan

    stripe = new_stripe(worker.settings, worker.context.outbound)
    return WorkerParts(handlers={plan.JOB: partial(plan.cancel_subscriptions, stripe)})


def new_stripe(settings: Settings, outbound: "Outbound") -> "Stripe | None":
    """Return None unless both secrets are configured."""
    from waypost.resources.plan.stripe import Stripe

    key, secret = settings.stripe_secret_key, settings.stripe_webhook_secret
    return Stripe(outbound, key.get_secret_value(), str(settings.stripe_url)) if key and secret else None


RESOURCE = Resource(templates={"plan": "waypost.resources.plan"}, endpoints=_endpoints, worker_parts=_worker_parts)
