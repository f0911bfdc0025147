"""What an account pays, and what that lets it do: told on a page, paid at Stripe where the operator has set that up."""

from waypost.resources.plan.cancellation import JOB, Cancelling, cancel_later, has_customer
from waypost.resources.plan.deps import Deps, Price
from waypost.resources.plan.stripe import Stripe

__all__ = ["JOB", "Cancelling", "Deps", "Price", "Stripe", "cancel_later", "has_customer"]
