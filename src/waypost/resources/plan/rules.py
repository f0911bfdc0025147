"""The plan that follows from Stripe's objects, as pure functions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from waypost.auth import Plan

_BEST_FIRST = ("active", "trialing", "past_due", "unpaid", "paused", "canceled")
"""Without `incomplete`: a subscription whose first payment never arrived changes nothing."""


def best_subscription(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """By status; the newest of several with the same status."""
    counted = [each for each in found if each.get("status") in _BEST_FIRST]
    return min(
        counted, key=lambda each: (_BEST_FIRST.index(each["status"]), -int(each.get("created") or 0)), default=None
    )


def plan_after(before: Plan, subscription: Mapping[str, Any] | None, *, has_paid_once: bool) -> Plan:
    """A lifetime plan never changes. An account without a subscription keeps its plan."""
    if before.type == "lifetime":
        return before
    if has_paid_once:
        return Plan("lifetime", None, None, None)
    if subscription is None:
        return before
    return Plan("subscription", str(subscription["status"]), None, _renews_at(subscription))


def ends_at(subscription: Mapping[str, Any] | None) -> datetime | None:
    """Of a canceled subscription that is still active."""
    return _moment(subscription.get("cancel_at")) if subscription else None


def one_time_payment(checkout: Mapping[str, Any], account_id: UUID, customer_id: str) -> str | None:
    """The id of a paid checkout of this account for a price without recurrence."""
    metadata = checkout.get("metadata")
    its_account = metadata.get("waypost_account") if isinstance(metadata, Mapping) else None
    is_own = its_account == str(account_id) and checkout.get("customer") == customer_id
    is_paid = checkout.get("mode") == "payment" and checkout.get("payment_status") == "paid"
    return str(checkout["id"]) if is_own and is_paid else None


def _renews_at(subscription: Mapping[str, Any]) -> datetime | None:
    items = subscription.get("items")
    entries = items.get("data") if isinstance(items, Mapping) else None
    periods = [_moment(each.get("current_period_end")) for each in entries or () if isinstance(each, Mapping)]
    return min((each for each in periods if each is not None), default=None)


def _moment(seconds: object) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int) else None
