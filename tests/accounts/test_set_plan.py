from datetime import timedelta
from uuid import uuid4

import pytest
from people import START, new_person

from waypost.accounts import get_account, set_plan
from waypost.database import Database
from waypost.kit.errors import NotFound

LATER = START + timedelta(days=1)


async def test_sets_a_plan(db: Database) -> None:
    alice = await new_person(db, "alice", plan="trial")
    changed = await set_plan(db, alice.account_id, "past_due", now=LATER, trial_days=14)
    assert (changed.plan.status, changed.plan.trial_ends_at, changed.updated_at) == ("past_due", None, LATER)
    assert await get_account(db, "alice@example.com") == changed


async def test_a_trial_ends_at_the_given_time(db: Database) -> None:
    alice = await new_person(db, "alice")
    changed = await set_plan(db, alice.account_id, "trial", now=START, trial_days=14, trial_ends_at=LATER)
    assert changed.plan.trial_ends_at == LATER
    counted = await set_plan(db, alice.account_id, "trial", now=START, trial_days=3)
    assert counted.plan.trial_ends_at == START + timedelta(days=3)


async def test_other_accounts_keep_their_plan(db: Database) -> None:
    alice, _bob = await new_person(db, "alice"), await new_person(db, "bob")
    await set_plan(db, alice.account_id, "none", now=START, trial_days=14)
    assert (await get_account(db, "bob@example.com")).plan.type == "lifetime"


async def test_an_unknown_account_raises_not_found(db: Database) -> None:
    with pytest.raises(NotFound):
        await set_plan(db, uuid4(), "lifetime", now=START, trial_days=14)
