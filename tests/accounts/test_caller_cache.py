"""R13: what a key may do is known at the very next request, in every process."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from people import START, Person, new_person
from sqlalchemy import text
from statements import noted

from waypost.accounts import CallerCache, create_key, get_person, list_keys, revoke_key, set_plan
from waypost.accounts.keys import format as key_format
from waypost.accounts.keys import store as key_store
from waypost.accounts.keys.caller_cache import CacheVersion, open_cache_version
from waypost.database import Database
from waypost.kit.errors import Unavailable


async def test_finds_the_caller_of_a_key(db: Database) -> None:
    alice, bob = await new_person(db, "alice"), await new_person(db, "bob", scopes=["links:read"])
    callers = CallerCache(db)
    found = await callers.find(bob.key)
    assert found
    assert (found.account.id, found.key.id, found.key.scopes) == (bob.account_id, bob.key_id, ("links:read",))
    again = await callers.find(alice.key)
    assert again
    assert again.account.email == "alice@example.com"


async def test_reads_the_role_of_the_maker_in_the_same_statement(db: Database) -> None:
    alice = await new_person(db, "alice")
    maker = await get_person(db, "alice@example.com")
    key, text = await create_key(db, account_id=alice.account_id, name="k", scopes=(), now=START, created_by=maker.id)
    async with db.point_read() as point_read:
        with noted() as statements:
            found = await key_store.find_api_caller(point_read, key_format.digest(text))
    assert found
    assert (found.key.id, found.role, len(statements)) == (key.id, "owner", 1)


async def test_an_unknown_key_has_no_caller(db: Database) -> None:
    assert await CallerCache(db).find(key_format.generate()) is None


async def test_a_mistyped_key_is_not_looked_up() -> None:
    nowhere = CallerCache(Database("postgresql://nobody@127.0.0.1:1/none"))
    assert await nowhere.find("wp_live_" + "x" * 38) is None
    with pytest.raises(Unavailable):
        await nowhere.find(key_format.generate())


async def test_a_key_revoked_by_another_process_is_refused(db: Database, database_url: str) -> None:
    alice = await new_person(db, "alice")
    callers = CallerCache(db)
    await callers.find(alice.key)
    elsewhere = Database(database_url)
    await revoke_key(elsewhere, alice.key_id, now=START)
    await elsewhere.close()
    found = await callers.find(alice.key)
    assert found
    assert found.key.revoked_at == START


async def test_a_plan_changed_by_another_process_is_seen(db: Database, database_url: str) -> None:
    alice = await new_person(db, "alice")
    callers = CallerCache(db)
    await callers.find(alice.key)
    elsewhere = Database(database_url)
    await set_plan(elsewhere, alice.account_id, "none", now=START, trial_days=14)
    await elsewhere.close()
    found = await callers.find(alice.key)
    assert found
    assert found.account.plan.type == "none"


async def test_an_unannounced_change_is_seen_within_a_second(db: Database) -> None:
    alice = await new_person(db, "alice")
    now = [0]
    callers = CallerCache(db, clock=lambda: now[0])
    await callers.find(alice.key)
    await revoke_silently(db, alice.key)
    now[0] = 1_000_000_000
    found = await callers.find(alice.key)
    assert found
    assert found.key.revoked_at == START


async def revoke_silently(db: Database, key: str) -> None:
    from sqlalchemy import update

    from waypost.accounts.model import api_keys

    async with db.write() as tx:
        await tx.execute(update(api_keys).where(api_keys.c.digest == key_format.digest(key)).values(revoked_at=START))


async def test_use_is_written_once_a_minute(db: Database) -> None:
    alice = await new_person(db, "alice")
    assert await use(CallerCache(db), db, alice, at=START) == START
    assert await use(CallerCache(db), db, alice, at=START + timedelta(seconds=59)) == START
    assert await use(CallerCache(db), db, alice, at=START + timedelta(seconds=60)) == START + timedelta(seconds=60)


async def test_two_processes_write_a_use_once(db: Database) -> None:
    alice = await new_person(db, "alice")
    first, second = CallerCache(db), CallerCache(db)
    await first.find(alice.key)
    await second.find(alice.key)
    await use(first, db, alice, at=START)
    assert await use(second, db, alice, at=START + timedelta(seconds=1)) == START


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_two_processes_lock_keys_in_one_order(db: Database) -> None:
    """Else each would wait for a key that the other has written."""
    first, second = sorted([(await new_person(db, name)).key_id for name in ("alice", "bob")])
    async with db.write() as tx:
        await key_store.record_uses(tx, {first: START}, at_most_every=timedelta(minutes=1))
        other = asyncio.create_task(_record(db, {second: START, first: START}))
        while not await tx.scalar(_IS_WAITING):
            pass
        await key_store.record_uses(tx, {second: START}, at_most_every=timedelta(minutes=1))
    await other


_IS_WAITING = text("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")


async def _record(db: Database, uses: dict[UUID, datetime]) -> None:
    async with db.write() as tx:
        await key_store.record_uses(tx, uses, at_most_every=timedelta(minutes=1))


async def use(callers: CallerCache, db: Database, person: Person, *, at: datetime) -> datetime | None:
    caller = await callers.find(person.key)
    assert caller
    callers.record_use(caller, at)
    await callers.flush()
    return (await list_keys(db, person.account_id))[0].last_used_at


async def test_the_version_file_is_beside_the_database(db: Database) -> None:
    stamp = open_cache_version(db)
    if db.dialect == "postgresql":
        assert stamp is None
        return
    assert stamp
    other = CacheVersion(db.path.with_name(f"{db.path.name}-callers"))
    before = other.read()
    stamp.change()
    assert other.read() == stamp.read() != before


@pytest.mark.parametrize("size", [0, 3])
def test_a_truncated_version_file_is_repaired(tmp_path, size: int) -> None:
    path = tmp_path / "stamp"
    path.write_bytes(b"x" * size)
    assert len(CacheVersion(path).read()) == 8
