"""Members of accounts: who may change whom, and what a removed one loses (R43)."""

import asyncio
from uuid import UUID

import pytest
from people import START, FakeClock, new_key, new_person

from waypost import accounts
from waypost.accounts import account_settings, store
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.accounts.keys.caller_cache import CallerCache
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import ROLES, Person, Role
from waypost.accounts.people import store as people
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import Session
from waypost.audit import Actor
from waypost.database import Database, Tx
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound
from waypost.settings import Settings
from waypost.worker import jobs


@pytest.fixture
def deps(db: Database) -> Deps:
    return new_deps(Settings(secret_key="a key"), db, FakeClock())


def command(account_id: UUID) -> Actor:
    return Actor.command(account_id, "a test")


def actor_of(account_id: UUID, person_id: UUID) -> Actor:
    return Actor(account_id, "person", person_id, "")


async def account(db: Database, name: str = "ada") -> UUID:
    return (await new_person(db, name)).account_id


async def owner_of(db: Database, name: str = "ada") -> Person:
    return await accounts.get_person(db, f"{name}@example.com")


async def member(deps: Deps, account_id: UUID, role: Role, name: str | None = None) -> Person:
    return (await members.add(deps, command(account_id), f"{name or role}@example.com", role)).person


async def roles_of(db: Database, account_id: UUID) -> dict[str, str]:
    async with db.read() as tx:
        listed = await memberships.list_of_account(tx, account_id)
    return {each.person.email.partition("@")[0]: each.role for each in listed}


async def session_of(db: Database, person: Person, account_id: UUID) -> str:
    async with db.write() as tx:
        return await sessions.create(tx, person.id, user_agent="", ip="", now=START, account_id=account_id)


async def mails(db: Database) -> list[tuple[str, str]]:
    async with db.read() as tx:
        rows = (await tx.execute(jobs.jobs.select().where(jobs.jobs.c.name == "mail.send"))).all()
    return [(row.payload["to"], row.payload["subject"]) for row in rows]


@pytest.mark.parametrize("actor", ROLES)
async def test_lets_roles_change_and_remove_only_whom_they_may(db: Database, deps: Deps, actor: Role) -> None:
    account_id = await account(db)
    caller = await member(deps, account_id, actor, "caller")
    for before in ROLES:
        for after in (*ROLES, None):
            if after == before:
                continue
            other = await member(deps, account_id, before, f"{before}-{after or 'no'}")
            is_allowed = actor == "owner" or (actor == "admin" and "owner" not in (before, after))
            change = (
                members.remove(deps, actor_of(account_id, caller.id), other.id)
                if after is None
                else members.change_role(deps, actor_of(account_id, caller.id), other.id, after)
            )
            if is_allowed:
                await change
            else:
                with pytest.raises(Forbidden):
                    await change
            assert (await roles_of(db, account_id)).get(f"{before}-{after or 'no'}") == (
                after if is_allowed else before
            )


async def test_keeps_the_last_owner(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    ada = await owner_of(db)
    for change in (
        members.change_role(deps, actor_of(account_id, ada.id), ada.id, "admin"),
        members.remove(deps, actor_of(account_id, ada.id), ada.id),
        members.remove(deps, command(account_id), ada.id),
    ):
        with pytest.raises(Conflict) as refused:
            await change
        assert refused.value.errors == {"body": [members.LAST_OWNER]}
    assert await roles_of(db, account_id) == {"ada": "owner"}


async def test_one_of_two_owners_who_remove_each_other_stays(db: Database, deps: Deps) -> None:
    for number in range(5):
        account_id = await account(db, f"ada{number}")
        ada, bob = await owner_of(db, f"ada{number}"), await member(deps, account_id, "owner", f"bob{number}")
        results = await asyncio.gather(
            members.remove(deps, actor_of(account_id, ada.id), bob.id),
            members.remove(deps, actor_of(account_id, bob.id), ada.id),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["Forbidden", "Person"]
        assert len(await roles_of(db, account_id)) == 1


async def test_two_owners_who_leave_at_once_leave_one(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    both = [await owner_of(db), await member(deps, account_id, "owner", "bob")]
    results = await asyncio.gather(
        *(members.remove(deps, actor_of(account_id, each.id), each.id) for each in both), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "Person"]


async def test_a_removed_member_loses_sessions_and_keys_at_once(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    admin = await member(deps, account_id, "admin")
    token = await session_of(db, admin, account_id)
    key, text = await accounts.create_key(
        db, account_id=account_id, name="k", scopes=(), now=START, created_by=admin.id
    )
    cache = CallerCache(db)
    caller = await cache.find(text)
    assert caller
    assert caller.role == "admin"
    assert isinstance(await sessions.find(db, token, now=START), Session)

    await members.remove(deps, actor_of(account_id, (await owner_of(db)).id), admin.id)
    assert await cache.find(text) is None
    session = await sessions.find(db, token, now=START)
    assert session
    assert not isinstance(session, Session)
    assert (await accounts.get_key(db, account_id, key.id)).revoked_at == START
    assert ("admin@example.com", "You were removed from an account") in await mails(db)


async def test_keys_can_be_handed_over(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    ada = await owner_of(db)
    admin, editor = await member(deps, account_id, "admin"), await member(deps, account_id, "editor")
    _, text = await accounts.create_key(db, account_id=account_id, name="k", scopes=(), now=START, created_by=admin.id)
    elsewhere = await new_key(db, (await new_person(db, "bob")).account_id)
    for receiver in (editor.id, admin.id, (await accounts.get_person(db, "bob@example.com")).id):
        for actor, reason in (
            (command(account_id), members.NO_RECEIVER),
            (actor_of(account_id, ada.id), members.NOT_TO_OTHERS),
        ):
            with pytest.raises(Invalid) as refused:
                await members.remove(deps, actor, admin.id, keys_to=receiver)
            assert refused.value.errors == {"keys_to": [reason]}
    await members.remove(deps, actor_of(account_id, ada.id), admin.id, keys_to=ada.id)
    cache = CallerCache(db)
    caller = await cache.find(text)
    assert caller
    assert (caller.role, caller.key.created_by, caller.key.revoked_at) == ("owner", ada.id, None)
    assert await cache.find(elsewhere.key)


async def test_a_command_hands_keys_over_and_notifies_the_receiver(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    ada, admin, other = (
        await owner_of(db),
        await member(deps, account_id, "admin"),
        await member(deps, account_id, "editor"),
    )
    key, _ = await accounts.create_key(db, account_id=account_id, name="k", scopes=(), now=START, created_by=admin.id)
    await members.remove(deps, command(account_id), other.id, keys_to=ada.id)  # has no keys
    notice = (ada.email, "API keys were handed over to you")
    assert notice not in await mails(db)
    await members.remove(deps, command(account_id), admin.id, keys_to=ada.id)
    assert (await accounts.get_key(db, account_id, key.id)).created_by == ada.id
    assert notice in await mails(db)


@pytest.mark.parametrize("role", ["admin", "viewer"])
async def test_who_leaves_hands_over_no_keys(db: Database, deps: Deps, role: Role) -> None:
    """Else they would get the rights of the receiver, with a key whose text they know."""
    account_id = await account(db)
    ada, leaver = await owner_of(db), await member(deps, account_id, "admin", "leaver")
    _, text = await accounts.create_key(db, account_id=account_id, name="k", scopes=(), now=START, created_by=leaver.id)
    await members.change_role(deps, command(account_id), leaver.id, role)
    for receiver in ada.id, leaver.id:
        with pytest.raises(Invalid):
            await members.remove(deps, actor_of(account_id, leaver.id), leaver.id, keys_to=receiver)
    assert (await roles_of(db, account_id))["leaver"] == role
    await members.remove(deps, actor_of(account_id, leaver.id), leaver.id)
    assert await CallerCache(db).find(text) is None


async def test_the_account_gets_no_email_of_an_owner_who_was_lowered_meanwhile(
    db: Database, deps: Deps, monkeypatch: pytest.MonkeyPatch
) -> None:
    account_id = await account(db)
    bob = await member(deps, account_id, "owner", "bob")
    session = await sessions.find(db, await session_of(db, await owner_of(db), account_id), now=START)
    assert isinstance(session, Session)
    lock = store.lock_account

    async def lock_late(tx: Tx, account_id: UUID) -> None:
        await lock(tx, account_id)
        await memberships.change_role(tx, account_id, bob.id, "admin")

    with monkeypatch.context() as patched, pytest.raises(Invalid) as refused:
        patched.setattr(store, "lock_account", lock_late)
        await account_settings.change_email(deps, session, bob.email)
    assert refused.value.errors == {"email": [account_settings.NO_OWNER]}
    await account_settings.change_email(deps, session, bob.email)  # that transaction was undone
    assert (await accounts.get_account(db, bob.email)).id == account_id


async def test_a_changed_role_limits_keys_at_the_next_request(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    admin = await member(deps, account_id, "admin")
    _, text = await accounts.create_key(db, account_id=account_id, name="k", scopes=(), now=START, created_by=admin.id)
    cache = CallerCache(db)
    for role in ("admin", "editor"):
        await members.change_role(deps, command(account_id), admin.id, role)
        caller = await cache.find(text)
        assert caller
        assert caller.role == role
    assert ("admin@example.com", "Your role was changed") in await mails(db)


async def test_a_key_is_not_created_by_a_role_that_was_lowered_meanwhile(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    admin = await member(deps, account_id, "admin")
    session = await sessions.find(db, await session_of(db, admin, account_id), now=START)
    assert isinstance(session, Session)
    await members.change_role(deps, command(account_id), admin.id, "editor")  # the request has passed its check
    with pytest.raises(Forbidden):
        await accounts.create_key(db, account_id=account_id, name="k", scopes=(), now=START, session=session)
    assert len(await accounts.list_keys(db, account_id)) == 1  # the one of `new_person`


async def test_no_key_survives_a_concurrent_removal(db: Database, deps: Deps) -> None:
    for number in range(5):
        account_id = await account(db, f"ada{number}")
        admin = await member(deps, account_id, "admin", f"admin{number}")
        session = await sessions.find(db, await session_of(db, admin, account_id), now=START)
        assert isinstance(session, Session)
        created, removed = await asyncio.gather(
            accounts.create_key(db, account_id=account_id, name="k", scopes=(), now=START, session=session),
            members.remove(deps, command(account_id), admin.id),
            return_exceptions=True,
        )
        assert isinstance(removed, Person)
        if isinstance(created, BaseException):
            assert isinstance(created, Forbidden)
        else:
            assert (await accounts.get_key(db, account_id, created[0].id)).revoked_at


async def test_the_email_of_the_account_moves_to_another_owner(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    ada, bob = await owner_of(db), await member(deps, account_id, "owner", "bob")
    await members.remove(deps, actor_of(account_id, bob.id), ada.id)
    assert (await accounts.get_account(db, "bob@example.com")).id == account_id


async def test_an_owner_stays_while_no_other_email_is_free(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    await new_person(db, "bob")  # has an account of their own, with their email
    bob = await member(deps, account_id, "owner", "bob")
    with pytest.raises(Conflict) as refused:
        await members.remove(deps, actor_of(account_id, bob.id), (await owner_of(db)).id)
    assert "Change the email of the account first" in str(refused.value.errors["body"])
    assert await roles_of(db, account_id) == {"ada": "owner", "bob": "owner"}


async def test_owners_learn_of_changes_of_owners(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    await member(deps, account_id, "owner", "bob")
    assert await mails(db) == [("ada@example.com", "The owners of an account were changed")]


async def test_adds_people_who_exist_and_new_ones(db: Database, deps: Deps) -> None:
    account_id = await account(db)
    await new_person(db, "bob")
    added = await members.add(deps, command(account_id), " Bob@example.com ", "editor")
    assert added.person == await accounts.get_person(db, "bob@example.com")
    with pytest.raises(Conflict):
        await members.add(deps, command(account_id), "bob@example.com", "viewer")
    with pytest.raises(Invalid):
        await members.add(deps, command(account_id), "bob", "viewer")
    async with db.read() as tx:
        of_bob = await memberships.list_of_person(tx, added.person.id)
    assert {each.role for each in of_bob} == {"owner", "editor"}


async def test_people_of_other_accounts_are_not_found(db: Database, deps: Deps) -> None:
    account_id, other = await account(db), await account(db, "bob")
    ada, bob = await owner_of(db), await owner_of(db, "bob")
    with pytest.raises(NotFound):
        await members.remove(deps, actor_of(account_id, ada.id), bob.id)
    with pytest.raises(NotFound):
        await members.change_role(deps, actor_of(account_id, ada.id), bob.id, "viewer")
    with pytest.raises(Forbidden):
        await members.change_role(deps, actor_of(other, ada.id), bob.id, "viewer")
    async with db.read() as tx:
        assert await people.find(tx, bob.id)
