"""Invitations to accounts: who may make them, whom they let in, and how often."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from people import START, FakeClock, new_person

from waypost import accounts
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.accounts.members import invitation_store, invitations, ownership
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Person, Role, SignInClient
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.accounts.sign_in import passwords
from waypost.audit import Actor
from waypost.database import Database
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound
from waypost.settings import Settings
from waypost.worker import jobs

PASSWORD = "four plain words suffice"
CLIENT = SignInClient()


@pytest.fixture(autouse=True)
def _no_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hashed(*_: object) -> str:
        return "a hash"

    monkeypatch.setattr(passwords, "hash_password", hashed)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def deps(db: Database, clock: FakeClock) -> Deps:
    return new_deps(Settings(secret_key="a key", smtp_url="smtp://mail.test", signup="closed"), db, clock)


async def session_of(db: Database, person: Person, account_id: UUID | None = None) -> PersonSession:
    async with db.write() as tx:
        token = await sessions.create(tx, person.id, user_agent="", ip="", now=START, account_id=account_id)
    found = await sessions.find(db, token, now=START)
    assert found
    return found


async def owner(db: Database, name: str = "ada") -> Session:
    account_id = (await new_person(db, name)).account_id
    session = await session_of(db, await accounts.get_person(db, f"{name}@example.com"), account_id)
    assert isinstance(session, Session)
    return session


async def member(deps: Deps, ada: Session, role: Role, name: str | None = None) -> Session:
    added = await members.add(deps, Actor.command(ada.account.id, "a test"), f"{name or role}@example.com", role)
    session = await session_of(deps.db, added.person, ada.account.id)
    assert isinstance(session, Session)
    return session


async def role_of(deps: Deps, ada: Session, person: Person) -> Role | None:
    async with deps.db.read() as tx:
        return await memberships.find(tx, ada.account.id, person.id)


async def mails(db: Database) -> list[dict[str, str]]:
    async with db.read() as tx:
        rows = await tx.execute(jobs.jobs.select().where(jobs.jobs.c.name == "mail.send").order_by(jobs.jobs.c.id))
        return [row.payload for row in rows.all()]


async def mailed_token(db: Database) -> str:
    latest = (await mails(db))[-1]["text"]
    return latest.partition("/invite/account/")[2].split()[0]


def token_of(invited: invitations.NewInvitation) -> str:
    assert invited.url
    return invited.url.rpartition("/")[2]


async def test_who_is_invited_by_email_joins_once(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    await new_person(db, "bob")
    bob = await session_of(db, await accounts.get_person(db, "bob@example.com"))
    invited = await invitations.create(deps, ada, email=" Bob@example.com", role="editor")
    assert invited == invitations.NewInvitation("bob@example.com", None)  # the link is in the mailbox only
    [mail] = await mails(db)
    assert mail["to"] == "bob@example.com"
    assert "ada@example.com invites you to the account ada" in mail["text"]
    token = await mailed_token(db)
    await invitations.accept(deps, bob, token)
    assert await role_of(deps, ada, bob.person) == "editor"
    assert await invitations.list_open(deps, ada.account.id) == []
    with pytest.raises(NotFound):
        await invitations.accept(deps, bob, token)


async def test_an_invitation_for_one_email_is_not_for_another(db: Database, deps: Deps) -> None:
    ada, eve = await owner(db), await owner(db, "eve")
    await invitations.create(deps, ada, email="bob@example.com", role="editor")
    with pytest.raises(Invalid) as refused:
        await invitations.accept(deps, eve, await mailed_token(db))
    assert "This invitation is for bob@example.com" in str(refused.value.errors)


async def test_of_two_who_use_a_link_at_once_one_joins(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    people = [await owner(db, name) for name in ("bob", "eve", "sue")]
    token = token_of(await invitations.create(deps, ada, email="", role="viewer"))
    results = await asyncio.gather(*(invitations.accept(deps, each, token) for each in people), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["NoneType", "NotFound", "NotFound"]
    joined = [each for each in people if await role_of(deps, ada, each.person)]
    assert len(joined) == 1


async def test_a_new_person_signs_up_where_sign_up_is_closed(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    await invitations.create(deps, ada, email="bob@example.com", role="admin")
    token = await mailed_token(db)
    signed_up = await invitations.sign_up(deps, CLIENT, token, email="other@example.com", name="Bob", password=PASSWORD)
    assert signed_up
    assert (signed_up.person.email, signed_up.person.confirmed_at) == ("bob@example.com", START)
    assert await role_of(deps, ada, signed_up.person) == "admin"
    async with db.read() as tx:
        assert len(await memberships.list_of_person(tx, signed_up.person.id)) == 1  # no account of their own
    with pytest.raises(NotFound):
        await invitations.sign_up(deps, CLIENT, token, email="", name="", password=PASSWORD)


async def test_a_link_does_not_prove_an_email(db: Database, deps: Deps, clock: FakeClock) -> None:
    """The maker of a link could otherwise sign up with the email of a third party."""
    ada = await owner(db)
    token = token_of(await invitations.create(deps, ada, email="", role="viewer"))
    signed_up = await invitations.sign_up(deps, CLIENT, token, email="bob@example.com", name="", password=PASSWORD)
    assert signed_up is None
    bob = await accounts.get_person(db, "bob@example.com")
    assert (bob.confirmed_at, await role_of(deps, ada, bob)) == (None, None)
    assert (await mails(db))[-1]["subject"] == "Confirm your email address"
    with pytest.raises(Invalid) as refused:
        await invitations.accept(deps, await session_of(db, bob), token)
    assert refused.value.errors == {"body": [invitations.UNCONFIRMED]}
    # the same answer for an email that somebody has, who is notified
    assert await invitations.sign_up(deps, CLIENT, token, email="ada@example.com", name="", password=PASSWORD) is None
    assert (await mails(db))[-1]["to"] == "ada@example.com"

    confirmed = replace(await session_of(db, bob), person=replace(bob, confirmed_at=clock()))
    await invitations.accept(deps, confirmed, token)
    assert await role_of(deps, ada, bob) == "viewer"


async def test_without_email_who_has_the_link_signs_up_at_once(db: Database, deps: Deps) -> None:
    deps = replace(deps, sends_mail=False)
    ada = await owner(db)
    token = token_of(await invitations.create(deps, ada, email="bob@example.com", role="viewer"))
    assert await invitations.sign_up(deps, CLIENT, token, email="", name="", password=PASSWORD)
    token = token_of(await invitations.create(deps, ada, email="", role="viewer"))
    with pytest.raises(Invalid):
        await invitations.sign_up(deps, CLIENT, token, email="bob@example.com", name="", password=PASSWORD)
    assert await invitations.sign_up(deps, CLIENT, token, email="eve@example.com", name="", password=PASSWORD)


async def test_roles_invite_up_to_their_own(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    admin, editor = await member(deps, ada, "admin"), await member(deps, ada, "editor")
    await invitations.create(deps, admin, email="", role="admin")
    for caller, role in ((admin, "owner"), (editor, "viewer")):
        with pytest.raises(Forbidden):
            await invitations.create(deps, caller, email="", role=role)  # type: ignore[arg-type]
    [invited] = await invitations.list_open(deps, ada.account.id)
    for refused in (invitations.revoke, invitations.resend):
        with pytest.raises(Forbidden):
            await refused(deps, editor, invited.id)
        with pytest.raises(NotFound):
            await refused(deps, await owner(db, f"eve-{refused.__name__}"), invited.id)


async def test_an_invitation_is_void_once_its_maker_may_not_invite(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    admin, bob = await member(deps, ada, "admin"), await owner(db, "bob")
    token = token_of(await invitations.create(deps, admin, email="", role="viewer"))
    await members.change_role(deps, Actor.command(ada.account.id, "a test"), admin.person.id, "editor")
    with pytest.raises(NotFound):
        await invitations.get(deps, token)
    with pytest.raises(NotFound):
        await invitations.accept(deps, bob, token)
    [listed] = await invitations.list_open(deps, ada.account.id)
    renewed = token_of(await invitations.resend(deps, ada, listed.id))  # of the owner now
    with pytest.raises(NotFound):
        await invitations.accept(deps, bob, token)
    await invitations.accept(deps, bob, renewed)


async def test_revoked_and_expired_invitations_do_not_work(db: Database, deps: Deps, clock: FakeClock) -> None:
    ada, bob = await owner(db), await owner(db, "bob")
    token = token_of(await invitations.create(deps, ada, email="", role="viewer"))
    [listed] = await invitations.list_open(deps, ada.account.id)
    await invitations.revoke(deps, ada, listed.id)
    for call in (invitations.revoke, invitations.resend):
        with pytest.raises(NotFound):
            await call(deps, ada, listed.id)
    with pytest.raises(NotFound):
        await invitations.accept(deps, bob, token)
    token = token_of(await invitations.create(deps, ada, email="", role="viewer"))
    clock.move(invitation_store.LIFETIME)
    with pytest.raises(NotFound):
        await invitations.accept(deps, bob, token)
    assert len(await invitations.list_open(deps, ada.account.id)) == 1  # can be sent again
    await invitations.create(deps, ada, email="bob@example.com", role="viewer")


async def test_limits_invitations_and_their_emails(
    db: Database, deps: Deps, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await owner(db)
    await invitations.create(deps, ada, email="bob@example.com", role="viewer")
    with pytest.raises(Invalid, match="invalid") as refused:
        await invitations.create(deps, ada, email="bob@example.com", role="viewer")
    assert refused.value.errors == {"email": [invitations.INVITED]}
    [listed] = await invitations.list_open(deps, ada.account.id)
    for _ in range(2):
        await invitations.resend(deps, ada, listed.id)
    with pytest.raises(Invalid) as refused:
        await invitations.resend(deps, ada, listed.id)
    assert refused.value.errors == {"email": [invitations.NOT_SENT]}
    with pytest.raises(Invalid) as refused:
        await invitations.create(deps, ada, email="ada@example.com", role="viewer")
    assert "already a member" in str(refused.value.errors["email"])

    monkeypatch.setattr(invitations, "MAX_PER_DAY", 3)
    for _ in range(2):  # revoking frees nothing of the day's
        await invitations.create(deps, ada, email="", role="viewer")
        await invitations.revoke(deps, ada, (await invitations.list_open(deps, ada.account.id))[0].id)
    with pytest.raises(Invalid) as refused:
        await invitations.create(deps, ada, email="", role="viewer")
    assert refused.value.errors == {"body": [invitations.TOO_MANY]}
    clock.move(timedelta(days=1))
    await invitations.create(deps, ada, email="", role="viewer")


async def test_who_is_unconfirmed_invites_nobody(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    unconfirmed = replace(ada, person=replace(ada.person, confirmed_at=None))
    with pytest.raises(Invalid) as refused:
        await invitations.create(deps, unconfirmed, email="", role="viewer")
    assert refused.value.errors == {"body": [invitations.UNCONFIRMED]}


async def test_the_name_of_an_account_is_no_message_in_an_email(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    spam = replace(ada, account=replace(ada.account, name="Win at https://evil.example/now!\u2028" + "x" * 200))
    await invitations.create(deps, spam, email="bob@example.com", role="viewer")
    [mail] = await mails(db)
    assert "evil.example" not in mail["text"]
    assert "the account Win at https evil example now xxx" in mail["text"]
    assert "x" * 60 not in mail["text"]


async def test_ownership_passes_when_the_other_accepts(db: Database, deps: Deps) -> None:
    ada = await owner(db)
    bob, eve = await member(deps, ada, "editor", "bob"), await member(deps, ada, "admin", "eve")
    await ownership.offer(deps, ada, bob.person.id, role_after="admin")
    assert (await mails(db))[-1]["to"] == "bob@example.com"
    for other in (eve, ada):
        with pytest.raises(NotFound):
            await ownership.accept(deps, other)
    with pytest.raises(NotFound):
        await ownership.withdraw(deps, eve)
    assert await role_of(deps, ada, bob.person) == "editor"
    await ownership.accept(deps, bob)
    assert (await role_of(deps, ada, bob.person), await role_of(deps, ada, ada.person)) == ("owner", "admin")
    assert (await accounts.get_account(db, "bob@example.com")).id == ada.account.id
    with pytest.raises(NotFound):
        await ownership.accept(deps, bob)


async def test_an_offer_ends_with_the_ownership_of_its_maker(db: Database, deps: Deps, clock: FakeClock) -> None:
    ada = await owner(db)
    bob = await member(deps, ada, "editor", "bob")
    second = await member(deps, ada, "owner", "second")
    with pytest.raises(Forbidden):
        await ownership.offer(deps, bob, bob.person.id, role_after="admin")
    with pytest.raises(Conflict):
        await ownership.offer(deps, ada, second.person.id, role_after="admin")
    await ownership.offer(deps, second, bob.person.id, role_after="admin")
    await members.change_role(deps, Actor.command(ada.account.id, "a test"), second.person.id, "admin")
    with pytest.raises(NotFound):
        await ownership.accept(deps, bob)
    await ownership.offer(deps, ada, bob.person.id, role_after="owner")
    await ownership.withdraw(deps, bob)
    assert await ownership.find(deps, ada.account.id) is None
    await ownership.offer(deps, ada, bob.person.id, role_after="owner")
    clock.move(ownership.LIFETIME)
    with pytest.raises(NotFound):
        await ownership.accept(deps, bob)


async def test_an_account_keeps_its_email_if_the_new_owner_has_an_account(db: Database, deps: Deps) -> None:
    ada, _ = await owner(db), await owner(db, "bob")
    bob = await member(deps, ada, "editor", "bob")
    await ownership.offer(deps, ada, bob.person.id, role_after="admin")
    await ownership.accept(deps, bob)
    assert (await accounts.get_account(db, "ada@example.com")).id == ada.account.id
