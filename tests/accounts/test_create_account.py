from datetime import timedelta

import pytest
from people import START

from waypost.accounts import PlanChoice, create_account, get_account, list_accounts
from waypost.database import Database
from waypost.kit.errors import Invalid, NotFound


async def create(db: Database, email: str = "alice@example.com", *, plan: PlanChoice = "trial", name: str = "Alice"):
    return await create_account(db, email=email, name=name, plan=plan, now=START, trial_days=14)


async def test_creates_an_account(db: Database) -> None:
    account = await create(db, " Alice@Example.com ")
    assert account.email == "alice@example.com"
    assert account.plan.trial_ends_at == START + timedelta(days=14)
    assert await get_account(db, "ALICE@example.com") == account
    assert await list_accounts(db) == [account]


@pytest.mark.parametrize(
    ("choice", "kind", "status"),
    [
        ("subscription", "subscription", "active"),
        ("past_due", "subscription", "past_due"),
        ("lifetime", "lifetime", None),
        ("none", "none", None),
    ],
)
async def test_the_account_has_the_chosen_plan(db: Database, choice: PlanChoice, kind: str, status: str | None) -> None:
    await create(db, plan=choice)
    plan = (await get_account(db, "alice@example.com")).plan
    assert (plan.type, plan.status, plan.trial_ends_at) == (kind, status, None)


async def test_an_email_is_unique_in_any_case(db: Database) -> None:
    await create(db)
    with pytest.raises(Invalid) as caught:
        await create(db, "ALICE@example.com")
    assert caught.value.errors == {"email": ["An account with this email already exists."]}
    assert len(await list_accounts(db)) == 1


@pytest.mark.parametrize("email", ["", "alice", "@x.y", "a@b", "a b@c.de", "a@c.de\0", "a@b@c.de", f"{'a' * 250}@c.de"])
async def test_an_invalid_email_is_refused(db: Database, email: str) -> None:
    with pytest.raises(Invalid) as caught:
        await create(db, email, name="\n")
    assert set(caught.value.errors) == {"email", "name"}


async def test_an_unknown_email_raises_not_found(db: Database) -> None:
    with pytest.raises(NotFound):
        await get_account(db, "bob@example.com")
