"""What the worker uses of plans."""

from waypost.outbound import Outbound
from waypost.resources.plan.stripe import Stripe
from waypost.settings import Settings


def new_stripe(settings: Settings, client: Outbound) -> Stripe | None:
    """Return None unless both secrets are configured."""
    key, secret = settings.stripe_secret_key, settings.stripe_webhook_secret
    return Stripe(client, key.get_secret_value(), str(settings.stripe_url)) if key and secret else None
