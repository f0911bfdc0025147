"""Plans of accounts, paid with Stripe where the operator has configured it."""

from waypost.resources.plan.cancellation import JOB, CancelSubscriptions, cancel_later, has_customer
from waypost.resources.plan.deps import Deps, Price
from waypost.resources.plan.stripe import Stripe

__all__ = ["JOB", "CancelSubscriptions", "Deps", "Price", "Stripe", "cancel_later", "has_customer"]
