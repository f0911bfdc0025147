"""The plan's page without Stripe: how things stand, and who can change that."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from browsing import WebApp, open_place

from waypost import accounts
from waypost.accounts.keys import pages as key_pages
from waypost.resources.domains import service as domains
from waypost.resources.pixels import service as pixels
from waypost.resources.webhooks import service as webhooks


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def test_shows_the_days_left_of_a_trial(place: WebApp) -> None:
    ada = await place.browser("ada@example.com", plan="trial")
    page = await ada.get("/plan")
    assert "<dt>Days left</dt><dd>14</dd>" in page.text
    assert "waypost account plan ada@example.com lifetime" in page.text
    place.clock.move(timedelta(days=13, hours=1))
    assert "<dt>Days left</dt><dd>1</dd>" in (await ada.get("/plan")).text
    place.clock.move(timedelta(days=1))
    page = await ada.get("/plan")
    assert "Your trial ended on" in page.text
    assert "Your links keep working" not in page.text  # there are none


async def test_shows_the_actual_limits(place: WebApp) -> None:
    page = (await (await place.browser("ada@example.com")).get("/plan")).text
    for name, limit in (
        ("Domains", f"{domains.MAX_DOMAINS:,}"),
        ("Pixels", pixels.MAX_PIXELS),
        ("Webhooks", webhooks.MAX_WEBHOOKS),
        ("API keys", key_pages.MAX_USABLE_KEYS),
    ):
        assert re.search(f"<dt>{name}</dt><dd><meter[^>]*></meter> 0 of {limit}<", page), name
    assert f"0 of at most {domains.MAX_UNVERIFIED_DOMAINS} unverified" in page
    assert ("<h1>Usage</h1>" in page, "Lifetime" in page) == (True, False), "nothing is for sale"


async def test_shows_each_state_of_a_plan(place: WebApp) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    assert ada.account
    for plan, text in {
        "none": "This account has no plan.",
        "subscription": "All features.",
        "past_due": "The last payment failed.",
        "lifetime": "<h1>Usage</h1>",
    }.items():
        await accounts.set_plan(place.db, ada.account.id, plan, now=place.clock(), trial_days=14)
        page = await ada.get("/plan")
        assert text in page.text
        assert ("until your plan is active" in page.text) == (plan in {"none", "past_due"})
        assert ("waypost account plan" in page.text) == (plan != "lifetime")
    assert "was changed" not in (await ada.get("/plan?done=refused")).text
    assert "Stripe" not in (await ada.get("/plan?done=paid")).text
    await accounts.set_plan(place.db, ada.account.id, "past_due", now=place.clock(), trial_days=14)
    refused = (await ada.get("/plan?done=refused")).text
    assert ("so nothing was changed" in refused, "Ask the administrator to reactivate" in refused) == (True, True)


async def test_without_stripe_nothing_can_be_paid(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert (await ada.post("/plan/checkout", {"price": "price_month"})).status_code == 404
    assert (await ada.post("/plan/portal")).status_code == 404
    assert (await ada.client.post("/api/stripe", content=b"x" * (1 << 20))).status_code == 404
    assert (await ada.client.post("/plan/checkout", data={"price": "price_month"})).status_code == 403
    nobody = await place.browser()
    assert (await nobody.get("/plan")).headers["location"] == "/login?next=/plan"
