"""Plans that are paid with Stripe.

An event only triggers a read of the current state from Stripe's API, so events may be late, repeated and out of order.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.exc import IntegrityError

from waypost import accounts, audit
from waypost.accounts import Account, changing_callers, lock_account
from waypost.accounts import store as accounts_store
from waypost.database import Tx
from waypost.kit import signing
from waypost.kit.errors import BadRequest, NotFound, Unavailable, or_not_found
from waypost.resources.plan import rules, store
from waypost.resources.plan.deps import Deps
from waypost.resources.plan.model import StripeCustomer
from waypost.resources.plan.stripe import Stripe
from waypost.worker import jobs
from waypost.worker.jobs import Job

_MAX_TRIES = 5  # to write before a concurrent update
_PAGE_SIZE = "100"  # of subscriptions or checkouts of one customer
JOB = jobs.JobKind("plan.cancel", max_attempts=100)  # over four days: at most an hour between two
_ENDED_STATUSES = frozenset({"canceled", "incomplete_expired"})

log = structlog.get_logger(__name__)


async def find_customer(deps: Deps, account: Account) -> StripeCustomer | None:
    async with deps.db.read() as tx:
        return await store.find_customer(tx, account.id)


async def count_account_links(deps: Deps, account: Account) -> int:
    async with deps.db.read() as tx:
        return await accounts.count_links(tx, account.id)


async def create_checkout(deps: Deps, account: Account, price_id: str) -> str:
    """Return the URL to pay at. Raises NotFound for a price that is not offered, and StripeUnavailable."""
    stripe = _require_stripe(deps)
    if price_id not in {price.id for price in deps.prices}:
        raise NotFound
    customer_id = await _find_or_create_customer(deps, stripe, account)
    price = await stripe.get("prices", price_id)
    mode = "subscription" if price.get("recurring") else "payment"
    fields = {
        "mode": mode,
        "customer": customer_id,
        "line_items[0][price]": price_id,
        "line_items[0][quantity]": "1",
        "metadata[waypost_account]": str(account.id),
        "success_url": f"{deps.base_url}/plan/paid?checkout={{CHECKOUT_SESSION_ID}}",
        "cancel_url": f"{deps.base_url}/plan",
    }
    checkout = await stripe.post("checkout", "sessions", fields=fields)
    async with deps.db.read() as tx:
        if await accounts_store.find_account(tx, account.id) is None:
            raise NotFound  # deleted concurrently: the payment would be for nothing
    return str(checkout["url"])


async def open_portal(deps: Deps, account: Account) -> str:
    """Return the URL to manage a subscription at. Raises NotFound without a customer, and StripeUnavailable."""
    customer = or_not_found(await find_customer(deps, account))
    fields = {"customer": customer.customer_id, "return_url": f"{deps.base_url}/plan"}
    session = await _require_stripe(deps).post("billing_portal", "sessions", fields=fields)
    return str(session["url"])


async def sync_checkout(deps: Deps, account: Account, checkout_id: str) -> None:
    """Update the plan after a payment without waiting for the event. Raises StripeUnavailable."""
    customer = await find_customer(deps, account)
    if customer:
        await _sync(deps, customer.account_id, checkout_id, event_id="")


def check_header(deps: Deps, header: str) -> None:
    """Check the header before the body is read. Raises NotFound if Stripe is not configured, and BadRequest."""
    _require_stripe(deps)
    if not signing.is_plausible(header, now=deps.clock().timestamp()):
        raise BadRequest("The Stripe-Signature header must hold a recent time (t) and a signature (v1).")


async def receive_event(deps: Deps, header: str, body: bytes) -> None:
    """Raises BadRequest for an invalid signature, and StripeUnavailable: then Stripe sends the event again."""
    if signing.find_problem(deps.webhook_secret, header, body, now=deps.clock().timestamp()):
        raise BadRequest("The signature does not match.")
    event_id, event_type, subject = _read_event(body)
    async with deps.db.read() as tx:
        customer = await store.find_customer_by_stripe_id(tx, str(subject.get("customer")))
        if customer is None or await store.has_event(tx, event_id):
            return  # not about one of our customers, or received before
    checkout_id = str(subject.get("id")) if event_type.startswith("checkout.session.") else ""
    await _sync(deps, customer.account_id, checkout_id, event_id=event_id)


async def has_customer(tx: Tx, account_id: UUID) -> bool:
    """Whether the account ever opened a checkout."""
    return await store.find_customer(tx, account_id) is not None


async def cancel_later(tx: Tx, account_id: UUID, now: datetime) -> None:
    """If and only if the caller's transaction commits. The job names no account: such jobs are deleted with it."""
    customer = await store.find_customer(tx, account_id)
    if customer:
        await jobs.enqueue(tx, JOB, {"customer_id": customer.customer_id}, now=now)


async def cancel_subscriptions(stripe: Stripe | None, job: Job) -> None:
    """Handle the job `plan.cancel`. Safe to repeat.

    Raises StripeUnavailable, and Unavailable if Stripe is not configured any more.
    """
    customer_id = str(job.payload["customer_id"])
    try:
        await _cancel(stripe, customer_id)
    except Unavailable:
        log.warning("subscriptions of a deleted account could not be canceled", customer=customer_id)
        raise


async def _sync(deps: Deps, account_id: UUID, checkout_id: str, *, event_id: str) -> None:
    for _ in range(_MAX_TRIES):
        async with deps.db.read() as tx:
            customer = await store.find_customer(tx, account_id)
        if customer is None:
            return  # the account was deleted
        if await _sync_once(deps, customer, checkout_id, event_id=event_id):
            return
    raise Unavailable


async def _sync_once(deps: Deps, customer: StripeCustomer, checkout_id: str, *, event_id: str) -> bool:
    """Return False if a concurrent update may have written a newer state: then read again."""
    stripe, now = _require_stripe(deps), deps.clock()
    checkout = await stripe.get("checkout", "sessions", checkout_id) if checkout_id else {}
    subscriptions = await stripe.get("subscriptions", customer=customer.customer_id, status="all", limit=_PAGE_SIZE)
    subscription = rules.best_subscription(_data(subscriptions))
    paid_id = rules.one_time_payment(checkout, customer.account_id, customer.customer_id)
    try:
        async with changing_callers(deps.db) as tx:
            if event_id:
                await store.add_event(tx, event_id, now)
            if not await store.update_customer(tx, customer, rules.ends_at(subscription)):
                raise _ConcurrentUpdate  # noqa: TRY301  # rolls back the transaction
            account = await accounts_store.find_account(tx, customer.account_id)
            if account is None:  # it was closed during a payment
                if _is_billable(subscription):
                    await cancel_later(tx, customer.account_id, now)
                return True
            # counted once: later changes, such as a refund, are up to the operator
            is_new = paid_id is not None and await store.add_checkout(tx, customer, paid_id, now)
            plan = rules.plan_after(account.plan, subscription, has_paid_once=is_new)
            if plan != account.plan:
                await accounts_store.change_plan(tx, account.id, plan, now)
                changes = audit.compare(account.plan, plan)
                await audit.record(tx, audit.Actor.system(account.id, "Stripe"), "plan.updated", now, changes=changes)
    except _ConcurrentUpdate:
        return False
    except IntegrityError:
        return True  # the same event, concurrently
    return True


class _ConcurrentUpdate(Exception):
    """Rolls back the transaction."""


async def _find_or_create_customer(deps: Deps, stripe: Stripe, account: Account) -> str:
    customer = await find_customer(deps, account)
    if customer:
        return customer.customer_id
    # only fields that are the same on a retry: Stripe refuses other fields with the same idempotency key for a day
    fields = {"metadata[waypost_account]": str(account.id)}
    created = str(
        (await stripe.post("customers", fields=fields, idempotency_key=f"waypost-customer-{account.id}"))["id"]
    )
    try:
        async with deps.db.write() as tx:
            await lock_account(tx, account.id)  # or a deletion of the account would not find this customer
            await store.add_customer(tx, account.id, created, deps.clock())
    except IntegrityError:  # a concurrent request: Stripe returned the same customer to both
        customer = await find_customer(deps, account)
        return customer.customer_id if customer else created
    return created


async def _cancel(stripe: Stripe | None, customer_id: str) -> None:
    if stripe is None:
        raise Unavailable("Stripe is not configured any more.")
    checkouts = await stripe.get("checkout", "sessions", customer=customer_id, status="open", limit=_PAGE_SIZE)
    for checkout in _data(checkouts):  # before they become subscriptions
        await stripe.post("checkout", "sessions", str(checkout["id"]), "expire", fields={})
    subscriptions = await stripe.get("subscriptions", customer=customer_id, limit=_PAGE_SIZE)
    for subscription in _data(subscriptions):
        if _is_billable(subscription):
            await stripe.delete("subscriptions", str(subscription["id"]))
    if checkouts.get("has_more") or subscriptions.get("has_more"):
        raise Unavailable("There are more subscriptions to cancel.")


def _data(response: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return response.get("data") or ()


def _is_billable(subscription: Mapping[str, Any] | None) -> bool:
    """Whether it can still be charged."""
    return subscription is not None and subscription.get("status") not in _ENDED_STATUSES


def _read_event(body: bytes) -> tuple[str, str, Mapping[str, Any]]:
    try:
        event = json.loads(body)
        return str(event["id"]), str(event["type"]), dict(event["data"]["object"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadRequest("The body is not a Stripe event.") from None


def _require_stripe(deps: Deps) -> Stripe:
    """Raises NotFound."""
    return or_not_found(deps.stripe)
