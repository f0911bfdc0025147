"""Plans of accounts, paid with Stripe where the operator has configured it."""

from waypost.resources.plan.service import JOB, cancel_later, cancel_subscriptions, has_customer
