"""The end of what an account that has left pays: nobody is charged for what they cannot use any more."""

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
from waypost.worker.model import Job

JOB = "plan.cancel"
_OVER = frozenset({"canceled", "incomplete_expired"})
_TRIES = 100  # four days: an hour at most between two
_AT_MOST = "100"

log = structlog.get_logger(__name__)


def is_live(subscription: Mapping[str, Any] | None) -> bool:
    """Whether something may be charged for it."""
    return subscription is not None and subscription.get("status") not in _OVER


async def has_customer(tx: Tx, account_id: UUID) -> bool:
    """Whether it ever went to Stripe."""
    return await store.customer_of(tx, account_id) is not None


async def cancel_later(tx: Tx, account_id: UUID, now: datetime) -> None:
    """If and only if the caller's transaction commits. Not the account's own job: those end with it."""
    customer = await store.customer_of(tx, account_id)
    if customer:
        await jobs.enqueue(tx, JOB, {"customer_id": customer.customer_id}, now=now, max_attempts=_TRIES)


class Cancelling:
    """The handler of `plan.cancel`. Done again, it ends what has come since."""

    def __init__(self, stripe: Stripe | None) -> None:
        self._stripe = stripe

    async def __call__(self, job: Job) -> None:
        """Raises StripeUnavailable, and Unavailable where Stripe is not set up any more."""
        customer_id = str(job.payload["customer_id"])
        try:
            await _cancel(self._stripe, customer_id)
        except Unavailable:
            log.warning("what a customer pays whose account is deleted could not be cancelled", customer=customer_id)
            raise


async def _cancel(stripe: Stripe | None, customer_id: str) -> None:
    if stripe is None:
        raise Unavailable("Stripe is not set up any more.")
    begun = await stripe.get("checkout", "sessions", customer=customer_id, status="open", limit=_AT_MOST)
    for each in _data(begun):  # before they become subscriptions
        await stripe.post("checkout", "sessions", str(each["id"]), "expire", fields={})
    found = await stripe.get("subscriptions", customer=customer_id, limit=_AT_MOST)
    for each in _data(found):
        if is_live(each):
            await stripe.delete("subscriptions", str(each["id"]))
    if begun.get("has_more") or found.get("has_more"):
        raise Unavailable("There is more to cancel.")


def _data(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return found.get("data") or ()
