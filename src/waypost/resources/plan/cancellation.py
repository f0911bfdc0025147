"""Cancels the subscriptions of a deleted account."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from waypost.database import Tx
from waypost.kit.errors import Unavailable
from waypost.resources.plan import store
from waypost.resources.plan.stripe import Stripe
from waypost.worker import jobs
from waypost.worker.jobs import Job

JOB = "plan.cancel"
_ENDED_STATUSES = frozenset({"canceled", "incomplete_expired"})
_MAX_ATTEMPTS = 100  # over four days: at most an hour between two
_PAGE_SIZE = "100"

log = structlog.get_logger(__name__)


def is_billable(subscription: Mapping[str, Any] | None) -> bool:
    """Whether it can still be charged."""
    return subscription is not None and subscription.get("status") not in _ENDED_STATUSES


async def has_customer(tx: Tx, account_id: UUID) -> bool:
    """Whether the account ever opened a checkout."""
    return await store.find_customer(tx, account_id) is not None


async def cancel_later(tx: Tx, account_id: UUID, now: datetime) -> None:
    """If and only if the caller's transaction commits. The job names no account: such jobs are deleted with it."""
    customer = await store.find_customer(tx, account_id)
    if customer:
        await jobs.enqueue(tx, JOB, {"customer_id": customer.customer_id}, now=now, max_attempts=_MAX_ATTEMPTS)


class CancelSubscriptions:
    """The handler of `plan.cancel`. Safe to repeat."""

    def __init__(self, stripe: Stripe | None) -> None:
        self._stripe = stripe

    async def __call__(self, job: Job) -> None:
        """Raises StripeUnavailable, and Unavailable where Stripe is not configured any more."""
        customer_id = str(job.payload["customer_id"])
        try:
            await _cancel(self._stripe, customer_id)
        except Unavailable:
            log.warning("subscriptions of a deleted account could not be canceled", customer=customer_id)
            raise


async def _cancel(stripe: Stripe | None, customer_id: str) -> None:
    if stripe is None:
        raise Unavailable("Stripe is not configured any more.")
    checkouts = await stripe.get("checkout", "sessions", customer=customer_id, status="open", limit=_PAGE_SIZE)
    for each in _data(checkouts):  # before they become subscriptions
        await stripe.post("checkout", "sessions", str(each["id"]), "expire", fields={})
    found = await stripe.get("subscriptions", customer=customer_id, limit=_PAGE_SIZE)
    for each in _data(found):
        if is_billable(each):
            await stripe.delete("subscriptions", str(each["id"]))
    if checkouts.get("has_more") or found.get("has_more"):
        raise Unavailable("There are more subscriptions to cancel.")


def _data(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return found.get("data") or ()
