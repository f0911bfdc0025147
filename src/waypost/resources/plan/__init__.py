"""Plans of accounts, paid with Stripe where the operator has configured it."""

from waypost.resources.plan.deps import Deps, Price
from waypost.resources.plan.service import JOB, cancel_later, cancel_subscriptions, has_customer
from waypost.resources.plan.stripe import Stripe

__all__ = ["JOB", "Deps", "Price", "Stripe", "cancel_later", "cancel_subscriptions", "has_customer"]
