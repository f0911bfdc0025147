"""Plans paid with Stripe: their changes, and events that are late, repeated, forged or about another customer."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import Browser, WebApp, open_place
from claimed import claimed_row
from resources.plan.scripted import KEY, SECRET, ScriptedStripe, signed
from servers import ALLOW
from sqlalchemy import select

from waypost import accounts
from waypost.audit import store as audit_store
from waypost.audit.store import AuditFilter
from waypost.composition import outbound_client
from waypost.kit.errors import Unavailable
from waypost.resources import plan
from waypost.resources.plan.resource import new_stripe
from waypost.resources.plan.stripe import VERSION
from waypost.worker.jobs import Job, jobs

MONTHLY, LIFETIME = {"price": "price_month"}, {"price": "price_life"}


@pytest.fixture
def stripe() -> ScriptedStripe:
    return ScriptedStripe()


@pytest.fixture
async def place(database_url: str, tmp_path: Path, stripe: ScriptedStripe):
    async with (
        stripe.server() as server,
        open_place(
            database_url,
            tmp_path,
            stripe_secret_key=KEY,
            stripe_webhook_secret=SECRET,
            stripe_prices=["Monthly=price_month", "Lifetime = price_life"],
            stripe_url=server.url(),
            outbound_allow=ALLOW,
        ) as place,
    ):
        yield place


@pytest.fixture
def send_event(place: WebApp, stripe: ScriptedStripe) -> Callable[..., Any]:
    """Sends an event, signed, from nobody's browser."""

    async def send(kind: str, subject: dict[str, Any], body: bytes = b"", **header: str | bytes) -> httpx.Response:
        sent = body or stripe.event(kind, subject)
        nobody = await place.browser()
        return await nobody.client.post(
            "/api/stripe", content=sent, headers=header or signed(sent, place.clock().timestamp())
        )

    return send


async def me(place: WebApp, browser: Browser) -> Callable[[], Any]:
    """What the API says to a key of theirs: the status, and the plan's own."""
    assert browser.account
    account_id = browser.account.id
    _, text = await accounts.create_key(place.db, account_id=account_id, name="k", scopes=(), now=place.clock())
    bearer = {"Authorization": f"Bearer {text}"}

    async def ask() -> tuple[int, int]:
        read = await browser.client.get("/api/v1/links", headers=bearer)
        plan = (await accounts.get_account(place.db, "ada@example.com")).plan
        return read.status_code, plan.type, plan.status

    return ask


async def test_a_subscription_and_a_lifetime_payment_set_the_plan(
    place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]
) -> None:
    """Sign-up, trial, paid, past due, cancelled, lifetime."""
    ada = await place.browser("ada@example.com", plan="trial")
    ask = await me(place, ada)
    assert await ask() == (200, "trial", None)
    assert "Choose a plan" in (await ada.get("/plan")).text

    answer = await ada.post("/plan/checkout", MONTHLY)
    assert (answer.status_code, answer.headers["location"]) == (303, "https://checkout.stripe.test/cs_1")
    assert stripe.checkouts["cs_1"]["mode"] == "subscription"
    assert {headers["stripe-version"] for *_, headers in stripe.requests} == {VERSION}
    incomplete = stripe.subscribe("cus_1", "incomplete")
    await send_event("customer.subscription.created", incomplete)
    assert await ask() == (200, "trial", None)

    paid = stripe.subscribe("cus_1", "active")
    back = await ada.get("/plan/paid?checkout=cs_1")
    assert back.headers["location"] == "/plan?done=paid"
    assert await ask() == (200, "subscription", "active")
    page = (await ada.get("/plan?done=paid")).text
    assert "Thank you." in page
    assert re.search("Renews on <time[^>]*>17 Mar 2030<", page)
    assert "Choose a plan" not in page

    paid["cancel_at"] = 1_900_000_000
    await send_event("customer.subscription.updated", paid)
    assert re.search("It ends on <time[^>]*>17 Mar 2030<", (await ada.get("/plan")).text)

    for status, code in {"past_due": 402, "active": 200, "unpaid": 402, "canceled": 402}.items():
        paid["status"] = status
        assert (await send_event("customer.subscription.updated", paid)).status_code == 200
        assert await ask() == (code, "subscription", status)
    assert (await ada.post("/plan/portal")).headers["location"] == "https://billing.stripe.test/cus_1"

    assert (await ada.post("/plan/checkout", LIFETIME)).headers["location"] == "https://checkout.stripe.test/cs_2"
    life = stripe.checkouts["cs_2"]
    assert life["mode"] == "payment"
    await send_event("checkout.session.completed", life | {"payment_status": "paid"})  # the event may say what it likes
    assert await ask() == (402, "subscription", "canceled")
    life["payment_status"] = "paid"
    await send_event("checkout.session.async_payment_succeeded", life)
    assert await ask() == (200, "lifetime", None)
    await send_event("customer.subscription.deleted", paid)
    assert await ask() == (200, "lifetime", None)
    assert ada.account
    assert stripe.customers == {"cus_1": {"metadata[waypost_account]": str(ada.account.id)}}  # what never changes


async def test_unsigned_events_change_nothing(
    place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]
) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    ask = await me(place, ada)
    await ada.post("/plan/checkout", MONTHLY)
    body = stripe.event("customer.subscription.created", stripe.subscribe("cus_1", "active"))
    now, requests = place.clock().timestamp(), len(stripe.requests)
    good = signed(body, now)["Stripe-Signature"]
    for header in (
        signed(body, now, "whsec_2")["Stripe-Signature"],
        signed(body, now - 301)["Stripe-Signature"],
        signed(body, now + 301)["Stripe-Signature"],
        signed(body + b" ", now)["Stripe-Signature"],
        good.replace("v1=", "v0="),
        f"{good},t=1",
        "t=,v1=",
        good.replace("v1=", "v1=\u00e9").encode("latin-1"),
    ):
        answer = await send_event("", {}, body, **{"Stripe-Signature": header})
        assert answer.status_code == 400
        assert "ignature" in answer.json()["error"]["message"]
    for content in (b"[]", b"{}", b"\xff", b'{"id": 1, "type": 2, "data": {"object": 3}}', b"[" * 100_000):
        assert (await send_event("", {}, content)).status_code == 400
    assert len(stripe.requests) == requests
    assert await ask() == (402, "none", None)
    answer = await send_event(
        "", {}, body, **{"Stripe-Signature": f"{good.replace('v1=', 'v1=0')},{good.partition(',')[2]}"}
    )
    assert answer.status_code == 200
    assert await ask() == (200, "subscription", "active")


async def test_the_body_is_not_read_without_a_recent_signature(place: WebApp, send_event: Callable[..., Any]) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 1024

    now = place.clock().timestamp()
    for header in ("", "t=1,v1=" + "0" * 64, f"t={now:.0f},v1=short", signed(b"", now - 301)["Stripe-Signature"]):
        assert (await send_event("", {}, endless(), **{"Stripe-Signature": header})).status_code == 400
    assert sent == 0
    assert (await send_event("", {}, endless(), **signed(b"", now))).status_code == 413
    assert sent <= 257


async def test_repeated_late_and_concurrent_events_are_handled(
    place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]
) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    ask = await me(place, ada)
    await ada.post("/plan/checkout", MONTHLY)
    subscription = stripe.subscribe("cus_1", "active")
    first = stripe.event("customer.subscription.created", dict(subscription))
    assert {answer.status_code for answer in await asyncio.gather(*(send_event("", {}, first) for _ in range(4)))} == {
        200
    }
    requests = len(stripe.requests)
    assert (await send_event("", {}, first)).status_code == 200
    assert len(stripe.requests) == requests

    late = stripe.event("customer.subscription.updated", dict(subscription))
    subscription["status"] = "canceled"
    await send_event("customer.subscription.deleted", dict(subscription))
    await send_event("", {}, late)  # says active, of the time when it was
    assert await ask() == (402, "subscription", "canceled")

    async def meanwhile() -> None:
        """Stripe's answer is on its way, and says cancelled: now another event is heard, and its answer says active."""
        subscription["status"] = "active"
        await send_event("customer.subscription.updated", subscription)

    stripe.before_answer = meanwhile
    await send_event("customer.subscription.updated", subscription)
    assert await ask() == (200, "subscription", "active")


async def test_nothing_changes_while_stripe_is_unavailable(
    place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]
) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    ask = await me(place, ada)
    await ada.post("/plan/checkout", MONTHLY)
    event = stripe.event("customer.subscription.created", stripe.subscribe("cus_1", "active"))
    stripe.is_down = True
    assert (await send_event("", {}, event)).status_code == 503
    for path, fields in (("/plan/checkout", MONTHLY), ("/plan/portal", {})):
        answer = await ada.post(path, fields)
        assert (answer.status_code, "Stripe is not available" in answer.text) == (503, True)
    assert (await ada.get("/plan/paid?checkout=cs_1")).status_code == 303
    assert await ask() == (402, "none", None)
    stripe.is_down = False
    assert (await send_event("", {}, event)).status_code == 200
    assert await ask() == (200, "subscription", "active")


async def test_a_payment_of_another_account_is_ignored(
    place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]
) -> None:
    ada, bob = await place.browser("ada@example.com", plan="none"), await place.browser("bob@example.com")
    ask = await me(place, ada)
    await bob.post("/plan/checkout", LIFETIME)
    stripe.checkouts["cs_1"]["payment_status"] = "paid"
    await ada.get("/plan/paid?checkout=cs_1")
    await ada.post("/plan/checkout", MONTHLY)
    await ada.get("/plan/paid?checkout=cs_1")
    await ada.get("/plan/paid?checkout=../customers")
    stranger = stripe.subscribe("cus_of_another_product", "active")
    assert (await send_event("customer.subscription.created", stranger)).status_code == 200
    assert await ask() == (402, "none", None)
    assert (await ada.post("/plan/checkout", {"price": "price_other"})).status_code == 404
    assert (await ada.post("/plan/checkout", {"price": ""})).status_code == 404
    assert (await ada.client.post("/plan/portal")).status_code == 403


async def test_a_plan_by_payment_is_in_the_audit_log(place: WebApp, stripe: ScriptedStripe) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    await ada.post("/plan/checkout", LIFETIME)
    stripe.checkouts["cs_1"]["payment_status"] = "paid"
    for _ in range(2):
        await ada.get("/plan/paid?checkout=cs_1")
    assert ada.account
    async with place.db.read() as tx:
        [entry], _ = await audit_store.list_before(tx, ada.account.id, AuditFilter(), None, limit=9)
    assert (entry.action, entry.actor.type, entry.actor.name) == ("plan.updated", "system", "Stripe")
    assert entry.changes == {"type": ["none", "lifetime"]}


async def test_a_payment_counts_once(place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]) -> None:
    """Stripe says `paid` of it for ever; the operator, after a refund, says otherwise."""
    ada = await place.browser("ada@example.com", plan="none")
    ask = await me(place, ada)
    for number in (1, 2):
        await ada.post("/plan/checkout", LIFETIME)
        life = stripe.checkouts[f"cs_{number}"]
        life["payment_status"] = "paid"
        await ada.get(f"/plan/paid?checkout={life['id']}")
        assert await ask() == (200, "lifetime", None)
        assert ada.account
        await accounts.set_plan(place.db, ada.account.id, "none", now=place.clock(), trial_days=14)
        await ada.get(f"/plan/paid?checkout={life['id']}")
        await send_event("checkout.session.completed", life)
        assert await ask() == (402, "none", None)


async def left_to_cancel(place: WebApp) -> list[Job]:
    async with place.db.write() as tx:
        rows = (await tx.execute(select(jobs).where(jobs.c.name == plan.JOB.name))).all()
        await tx.execute(jobs.delete().where(jobs.c.name == plan.JOB.name))
    return [claimed_row(row) for row in rows]


async def test_deleting_an_account_cancels_its_subscriptions(
    place: WebApp, stripe: ScriptedStripe, send_event: Callable[..., Any]
) -> None:
    ada, bob = await place.browser("ada@example.com", plan="none"), await place.browser("bob@example.com")
    notice = "An active subscription is canceled"
    assert notice not in (await ada.get("/account/delete")).text
    for browser in (ada, bob):
        await browser.post("/plan/checkout", MONTHLY)
    for status in ("active", "past_due", "canceled"):
        stripe.subscribe("cus_1", status)
    stripe.subscribe("cus_2", "active")
    assert notice in (await ada.get("/account/delete")).text
    assert (await ada.post("/account/delete", {"name": ""})).status_code == 303
    [job] = await left_to_cancel(place)
    assert job.account_id is None  # it outlives the account and its jobs
    work = partial(plan.cancel_subscriptions, new_stripe(place.settings, outbound_client(place.settings)))
    stripe.is_down = True
    with pytest.raises(Unavailable):
        await work(job)
    stripe.is_down = False
    for _ in range(2):
        await work(job)
    assert [each["status"] for each in stripe.subscriptions] == ["canceled"] * 3 + ["active"]
    assert [each["status"] for each in stripe.checkouts.values()] == ["expired", "open"]

    late = stripe.subscribe("cus_1", "active")  # paid at the very moment
    assert (await send_event("customer.subscription.created", late)).status_code == 200
    for again in await left_to_cancel(place):
        await work(again)
    assert late["status"] == "canceled"
    with pytest.raises(Unavailable):
        await plan.cancel_subscriptions(None, job)


async def test_a_price_without_a_name_is_an_error(database_url: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Monthly=price_123"):
        async with open_place(database_url, tmp_path, stripe_prices=["price_123"]):
            pass
