"""The verbs on a plan that is paid at Stripe. An event only says that there is something to look at: what becomes of
the plan is what Stripe answers when it is asked, so events may come late, twice, and in any order.
"""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from waypost import auth
from waypost.auth import Account, lock_account
from waypost.auth import store as accounts_store
from waypost.auth.cache_version import invalidating_callers
from waypost.kit.errors import BadRequest, NotFound, Unavailable
from waypost.resources.plan import cancellation, rules, signature, store
from waypost.resources.plan.deps import Deps
from waypost.resources.plan.model import Customer
from waypost.resources.plan.stripe import Stripe

_TRIES = 5  # to write what Stripe said before somebody else does
_AT_MOST = "100"  # subscriptions of one customer


async def customer_of(deps: Deps, account: Account) -> Customer | None:
    async with deps.db.read() as tx:
        return await store.customer_of(tx, account.id)


async def count_links(deps: Deps, account: Account) -> int:
    async with deps.db.read() as tx:
        return await auth.count_links(tx, account.id)


async def check_out(deps: Deps, account: Account, price_id: str) -> str:
    """Where to pay. Raises NotFound for a price that is not offered, and StripeUnavailable."""
    stripe = _stripe(deps)
    if price_id not in {price.id for price in deps.prices}:
        raise NotFound
    customer_id = await _customer_id(deps, stripe, account)
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
    made = await stripe.post("checkout", "sessions", fields=fields)
    async with deps.db.read() as tx:
        if await accounts_store.find_account(tx, account.id) is None:
            raise NotFound  # closed meanwhile: what is begun now would be paid for nothing
    return _url(made)


async def open_portal(deps: Deps, account: Account) -> str:
    """Where to change or end a subscription. Raises NotFound for who never paid, and StripeUnavailable."""
    customer = await customer_of(deps, account)
    if customer is None:
        raise NotFound
    fields = {"customer": customer.customer_id, "return_url": f"{deps.base_url}/plan"}
    return _url(await _stripe(deps).post("billing_portal", "sessions", fields=fields))


async def look(deps: Deps, account: Account, checkout_id: str) -> None:
    """What became of a payment, without waiting for the event. Raises StripeUnavailable."""
    customer = await customer_of(deps, account)
    if customer:
        await _follow(deps, customer.account_id, checkout_id, event_id="")


def expect_event(deps: Deps, header: str) -> None:
    """Called before the body is read. Raises NotFound where Stripe is not used, BadRequest for another's header."""
    _stripe(deps)
    if not signature.is_plausible(header, now=deps.clock().timestamp()):
        raise BadRequest("The Stripe-Signature header must hold a recent time (t) and a signature (v1).")


async def hear(deps: Deps, header: str, body: bytes) -> None:
    """Raises BadRequest for what is not from Stripe, and StripeUnavailable: then the event comes again."""
    if not signature.is_signed(deps.webhook_secret, header, body, now=deps.clock().timestamp()):
        raise BadRequest("The signature does not match.")
    event_id, kind, subject = _read(body)
    async with deps.db.read() as tx:
        customer = await store.customer_called(tx, str(subject.get("customer")))
        if customer is None or await store.has_heard(tx, event_id):
            return  # of something else that the operator sells, or an old acquaintance
    checkout_id = str(subject.get("id")) if kind.startswith("checkout.session.") else ""
    await _follow(deps, customer.account_id, checkout_id, event_id=event_id)


async def _follow(deps: Deps, account_id: UUID, checkout_id: str, *, event_id: str) -> None:
    for _ in range(_TRIES):
        async with deps.db.read() as tx:
            customer = await store.customer_of(tx, account_id)
        if customer is None:
            return  # the account is gone
        if await _write(deps, customer, checkout_id, event_id=event_id):
            return
    raise Unavailable


async def _write(deps: Deps, customer: Customer, checkout_id: str, *, event_id: str) -> bool:
    """False when what Stripe said may be older than what another wrote meanwhile: ask again."""
    stripe, now = _stripe(deps), deps.clock()
    checkout = await stripe.get("checkout", "sessions", checkout_id) if checkout_id else {}
    found = await stripe.get("subscriptions", customer=customer.customer_id, status="all", limit=_AT_MOST)
    subscription = rules.subscription_among(found.get("data") or ())
    paid_id = rules.paid_once(checkout, customer.account_id, customer.customer_id)
    with invalidating_callers(deps.db):
        try:
            async with deps.db.write() as tx:
                if event_id:
                    await store.note_heard(tx, event_id, now)
                if not await store.move_on(tx, customer, rules.ends_at(subscription)):
                    raise _Overtaken  # noqa: TRY301  # it undoes the transaction it is raised in
                account = await accounts_store.find_account(tx, customer.account_id)
                if account is None:  # it is closed, and somebody was just paying
                    if cancellation.is_live(subscription):
                        await cancellation.cancel_later(tx, customer.account_id, now)
                    return True
                # once: what came after, such as a refund, is the operator's to judge
                is_new = paid_id is not None and await store.count_checkout(tx, customer, paid_id, now)
                plan = rules.plan_after(account.plan, subscription, has_paid_once=is_new)
                if plan != account.plan:
                    await accounts_store.change_plan(tx, account.id, plan, now)
        except _Overtaken:
            return False
        except IntegrityError:
            return True  # the same event, at the same moment
    return True


class _Overtaken(Exception):
    """Undoes what was written."""


async def _customer_id(deps: Deps, stripe: Stripe, account: Account) -> str:
    known = await customer_of(deps, account)
    if known:
        return known.customer_id
    # nothing that may be another when it is tried again: under one key Stripe takes no other customer for a day
    fields = {"metadata[waypost_account]": str(account.id)}
    made = str((await stripe.post("customers", fields=fields, only_once=f"waypost-customer-{account.id}"))["id"])
    try:
        async with deps.db.write() as tx:
            await lock_account(tx, account.id)  # or its end would not know of this customer
            await store.add_customer(tx, account.id, made, deps.clock())
    except IntegrityError:  # two clicks at once: Stripe gave both the same one
        known = await customer_of(deps, account)
        return known.customer_id if known else made
    return made


def _read(body: bytes) -> tuple[str, str, Mapping[str, Any]]:
    try:
        event = json.loads(body)
        return str(event["id"]), str(event["type"]), dict(event["data"]["object"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadRequest("This is not an event.") from None


def _url(made: Mapping[str, Any]) -> str:
    return str(made["url"])


def _stripe(deps: Deps) -> Stripe:
    if deps.stripe is None:
        raise NotFound
    return deps.stripe
