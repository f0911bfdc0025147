import re
from datetime import timedelta
from uuid import uuid4

import pytest
from people import START, new_person
from sqlalchemy import text

from waypost.accounts import SCOPES, create_key, list_keys, revoke_key
from waypost.accounts.keys import format as key_format
from waypost.database import Database
from waypost.kit.errors import Invalid, NotFound


async def test_creates_a_key_with_scopes(db: Database) -> None:
    alice = await new_person(db, "alice")
    key, shown = await create_key(
        db, account_id=alice.account_id, name="ci", scopes=["links:read"], now=START + timedelta(seconds=1)
    )
    assert re.fullmatch(r"wp_live_[0-9A-Za-z]{38}", shown)
    assert (key.prefix, key.scopes, key.name) == (shown[:12], ("links:read",), "ci")
    assert [each.id for each in await list_keys(db, alice.account_id)] == [key.id, alice.key_id]


async def test_no_scopes_means_all_scopes(db: Database) -> None:
    alice = await new_person(db, "alice")
    assert (await list_keys(db, alice.account_id))[0].scopes == SCOPES


async def test_the_database_does_not_contain_the_key_text(db: Database) -> None:
    alice = await new_person(db, "alice")
    async with db.read() as tx:
        stored = str((await tx.execute(text("SELECT * FROM api_keys"))).all())
    assert alice.key not in stored
    assert key_format.digest(alice.key) in stored


async def test_invalid_input_reports_all_errors(db: Database) -> None:
    alice = await new_person(db, "alice")
    with pytest.raises(Invalid) as caught:
        await create_key(
            db, account_id=alice.account_id, name="", scopes=["links:read", "all"], expires_at=START, now=START
        )
    assert set(caught.value.errors) == {"name", "scopes.1", "expires_at"}


async def test_an_unknown_account_gets_no_key(db: Database) -> None:
    with pytest.raises(NotFound):
        await create_key(db, account_id=uuid4(), name="x", scopes=[], now=START)


async def test_revoking_twice_keeps_the_first_time(db: Database) -> None:
    alice = await new_person(db, "alice")
    await revoke_key(db, alice.key_id, now=START)
    assert (await revoke_key(db, alice.key_id, now=START + timedelta(days=1))).revoked_at == START
    assert (await list_keys(db, alice.account_id))[0].revoked_at == START


async def test_revoking_an_unknown_key_raises_not_found(db: Database) -> None:
    with pytest.raises(NotFound):
        await revoke_key(db, uuid4(), now=START)


def test_the_checksum_detects_a_mistyped_key() -> None:
    key = key_format.generate()
    assert key_format.is_wellformed(key)
    for position in range(len(key)):
        typo = "x" if key[position] != "x" else "y"
        assert not key_format.is_wellformed(key[:position] + typo + key[position + 1 :])
    assert not key_format.is_wellformed(key + "\n")
    assert not key_format.is_wellformed("")


def test_generated_keys_are_unique() -> None:
    assert len({key_format.generate() for _ in range(1000)}) == 1000
