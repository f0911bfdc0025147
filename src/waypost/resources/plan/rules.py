"""The plan that follows from Stripe's objects, as pure functions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from waypost.accounts import Plan

_BEST_FIRST = ("active", "trialing", "past_due", "unpaid", "paused", "canceled")
"""Leaves out `incomplete`: a subscription whose first payment never arrived changes nothing."""


def best_subscription(subscriptions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the one with the best status; the newest of several with the same status."""
    candidates = [subscription for subscription in subscriptions if subscription.get("status") in _BEST_FIRST]
    return min(candidates, key=_rank, default=None)


def _rank(subscription: Mapping[str, Any]) -> tuple[int, int]:
    return _BEST_FIRST.index(subscription["status"]), -int(subscription.get("created") or 0)


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
    """Return when a canceled subscription ends that is still active."""
    return _parse_time(subscription.get("cancel_at")) if subscription else None


def one_time_payment(checkout: Mapping[str, Any], account_id: UUID, customer_id: str) -> str | None:
    """Return the id if it is a paid checkout of this account for a price without recurrence."""
    metadata = checkout.get("metadata")
    metadata_account = metadata.get("waypost_account") if isinstance(metadata, Mapping) else None
    is_own = metadata_account == str(account_id) and checkout.get("customer") == customer_id
    is_paid = checkout.get("mode") == "payment" and checkout.get("payment_status") == "paid"
    return str(checkout["id"]) if is_own and is_paid else None


def _renews_at(subscription: Mapping[str, Any]) -> datetime | None:
    items = subscription.get("items")
    entries = items.get("data") if isinstance(items, Mapping) else None
    ends = [_parse_time(item.get("current_period_end")) for item in entries or () if isinstance(item, Mapping)]
    return min((end for end in ends if end is not None), default=None)


def _parse_time(seconds: object) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int) else None
