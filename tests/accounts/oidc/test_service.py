"""Who signs in with an identity, and with which role."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import jwt
import pytest
from identity_provider import REMOVED, Answer, IdentityProvider
from people import FakeClock
from sqlalchemy import select

from waypost.accounts import AuthenticationResult, CallerCache, account_settings, create_account, create_key
from waypost.accounts.members import invitations
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Person, Role
from waypost.accounts.oidc import identities, pending, service
from waypost.accounts.oidc.deps import Deps
from waypost.accounts.oidc.errors import SignInRefused
from waypost.accounts.oidc.rules import Identity
from waypost.accounts.people import profile
from waypost.accounts.people import store as people
from waypost.accounts.sessions import store as sessions
from waypost.audit import Actor
from waypost.audit.model import audit_entries
from waypost.database import Database, Tx
from waypost.kit.errors import Conflict, Invalid, NotFound

ANN = Identity("https://id.test", "ann-1", "ann@example.com", "Ann", ("marketing", "others"), "session-1", "a.b.c")


@dataclass
class Here:
    """The service, with the account that people join."""

    deps: Deps
    account_id: UUID

    async def sign_in(self, identity: Identity = ANN) -> Person:
        return (await service.sign_in(self.deps, identity)).person

    async def refuses(self, identity: Identity) -> str:
        with pytest.raises(SignInRefused) as refused:
            await service.sign_in(self.deps, identity)
        return refused.value.message

    async def role(self, person: Person) -> Role | None:
        async with self.deps.db.read() as tx:
            return await memberships.find(tx, self.account_id, person.id)

    async def set_role(self, person: Person, role: Role) -> None:
        async with self.deps.db.write() as tx:
            await memberships.add(tx, self.account_id, person.id, role, self.deps.clock())

    async def new_person(self, email: str) -> Person:
        now = self.deps.clock()
        await create_account(self.deps.db, email=email, name="", plan="none", now=now, trial_days=1)
        return await self.person(email)

    async def person(self, email: str) -> Person:
        async with self.deps.db.read() as tx:
            found = await people.find_by_email(tx, email)
        assert found
        return found

    async def session(self, result: AuthenticationResult) -> sessions.PersonSession | None:
        """Start a session."""
        return await self.session_of(await self.token(result))

    async def token(self, result: AuthenticationResult) -> str:
        now = self.deps.clock()
        async with self.deps.db.write() as tx:
            return await sessions.create(tx, result.person.id, user_agent="", ip="", now=now, provider=result.provider)

    async def session_of(self, token: str) -> sessions.PersonSession | None:
        return await sessions.find(self.deps.db, token, now=self.deps.clock())


@pytest.fixture
async def here(deps: Deps, db: Database, clock: FakeClock) -> Here:
    account = await create_account(db, email="owner@example.com", name="Us", plan="lifetime", now=clock(), trial_days=1)
    return Here(deps, account.id)


async def test_a_new_person_joins_with_the_role_of_the_groups(here: Here) -> None:
    person = await here.sign_in()
    assert (person.email, person.name) == ("ann@example.com", "Ann")
    assert person.confirmed_at
    assert await here.role(person) == "editor"
    session = await here.session(await service.sign_in(here.deps, ANN))
    assert isinstance(session, sessions.Session)
    assert (session.account.id, session.role) == (here.account_id, "editor")


async def test_the_highest_role_of_several_groups_counts(here: Here) -> None:
    assert await here.role(await here.sign_in(replace(ANN, groups=("marketing", "cn=boss", "it")))) == "owner"


async def test_each_sign_in_raises_and_lowers_the_role(here: Here) -> None:
    person = await here.sign_in()
    for group, role in (("it", "admin"), ("cn=boss", "owner"), ("marketing", "editor")):
        assert await here.sign_in(replace(ANN, groups=(group,))) == person
        assert await here.role(person) == role


async def test_two_tabs_that_finish_at_once_create_one_person(here: Here) -> None:
    first, second = await asyncio.gather(here.sign_in(), here.sign_in())
    assert first.id == second.id


async def test_records_what_groups_change(here: Here, db: Database, clock: FakeClock) -> None:
    person = await here.sign_in()
    await here.sign_in()
    clock.move(timedelta(seconds=1))
    await here.sign_in(replace(ANN, groups=("it",)))
    clock.move(timedelta(seconds=1))
    await here.refuses(replace(ANN, groups=()))
    async with db.read() as tx:
        entries = (await tx.execute(select(audit_entries).order_by(audit_entries.c.id))).all()
    assert [(entry.action, entry.changes["role"]) for entry in entries] == [
        ("member.added", [None, "editor"]),
        ("member.updated", ["editor", "admin"]),
        ("member.removed", ["admin", None]),
    ]
    assert {(entry.actor_type, entry.actor_name, entry.item_id) for entry in entries} == {
        ("system", "single sign-on", person.id)
    }


async def test_refuses_whoever_has_no_role(here: Here) -> None:
    for groups in ((), ("others",), ("Marketing",)):
        assert await here.refuses(replace(ANN, groups=groups)) == service.NO_ROLE
    async with here.deps.db.read() as tx:
        assert await people.find_by_email(tx, "ann@example.com") is None


async def test_losing_the_last_group_ends_membership_and_sessions(here: Here) -> None:
    result = await service.sign_in(here.deps, ANN)
    token = await here.token(result)
    assert await here.session_of(token)
    await here.refuses(replace(ANN, groups=()))
    assert await here.role(result.person) is None
    assert await here.session_of(token) is None
    await here.sign_in()
    assert await here.role(result.person) == "editor"


async def test_the_last_owner_stays_owner(here: Here) -> None:
    owner = await here.person("owner@example.com")
    session = await here.session(AuthenticationResult(owner))
    assert session
    identity = replace(ANN, email=owner.email)
    await service.connect(here.deps, session, identity)
    assert await here.sign_in(identity) == owner
    assert await here.role(owner) == "owner"
    await here.refuses(replace(identity, groups=()))
    assert await here.role(owner) == "owner"
    await here.sign_in(replace(ANN, subject="bob-1", email="bob@example.com", groups=("cn=boss",)))
    await here.sign_in(identity)
    assert await here.role(owner) == "editor"


async def test_keys_end_with_the_membership(here: Here, db: Database) -> None:
    ann = await here.sign_in()
    now = here.deps.clock()
    _, text = await create_key(db, account_id=here.account_id, name="tests", scopes=[], now=now, created_by=ann.id)
    cache = CallerCache(db)
    caller = await cache.find(text)
    assert caller
    assert caller.role == "editor"
    await here.sign_in(replace(ANN, groups=("it",)))
    caller = await cache.find(text)
    assert caller
    assert caller.role == "admin"
    await here.refuses(replace(ANN, groups=()))
    caller = await cache.find(text)
    assert caller is None or caller.key.revoked_at


async def test_does_not_take_over_a_person_with_the_same_email(here: Here) -> None:
    before = await here.new_person("ann@example.com")
    with pytest.raises(service.NotConnected):
        await here.sign_in()
    assert await here.role(before) is None
    assert await here.refuses(replace(ANN, groups=())) == service.NO_ROLE  # which does not say that there is one


async def test_signs_in_who_has_connected(here: Here) -> None:
    before = await here.new_person("ann@example.com")
    session = await here.session(AuthenticationResult(before))
    assert session
    await service.connect(here.deps, session, ANN)
    assert await here.role(before) == "editor"
    async with here.deps.db.read() as tx:
        actions = set((await tx.execute(select(audit_entries.c.action))).scalars())
    assert actions == {"identity.connected", "member.added"}
    assert (await here.sign_in(replace(ANN, email="new@example.com"))).id == before.id


async def test_another_subject_with_the_same_email_has_to_connect_again(here: Here) -> None:
    person = await here.sign_in()
    other = replace(ANN, subject="ann-2")
    with pytest.raises(service.NotConnected):
        await here.sign_in(other)
    with pytest.raises(service.NotConnected):
        await here.sign_in(replace(ANN, issuer="https://other.test"))
    session = await here.session(AuthenticationResult(person))
    assert session
    await service.connect(here.deps, session, other)
    assert await here.sign_in(other) == person
    with pytest.raises(service.NotConnected):
        await here.sign_in(ANN)


async def test_an_identity_belongs_to_one_person(here: Here) -> None:
    await here.sign_in()
    bob = await here.new_person("bob@example.com")
    session = await here.session(AuthenticationResult(bob))
    assert session
    with pytest.raises(Invalid) as invalid:
        await service.connect(here.deps, session, ANN)
    assert invalid.value.errors == {"body": [service.CONNECTED_TO_ANOTHER]}
    with pytest.raises(Invalid):
        await service.connect(here.deps, session, replace(ANN, subject="bob-1", groups=()))


async def test_a_role_set_by_hand_stays_without_single_sign_on(here: Here) -> None:
    bob = await here.new_person("bob@example.com")
    await here.set_role(bob, "viewer")
    await here.sign_in()
    assert await here.role(bob) == "viewer"


async def test_a_membership_by_hand_stays_when_the_groups_end(here: Here) -> None:
    bob = await here.new_person("bob@example.com")
    await here.set_role(bob, "viewer")
    session = await here.session(AuthenticationResult(bob))
    assert session
    here.deps = replace(here.deps, role_by_group={})
    await service.connect(here.deps, session, ANN)
    here.deps = replace(here.deps, role_by_group={"it": "admin"})
    await here.refuses(ANN)
    assert await here.role(bob) == "viewer"


async def test_without_roles_nobody_joins(here: Here) -> None:
    here.deps = replace(here.deps, role_by_group={}, account_email="")
    assert await here.refuses(ANN) == service.NO_ACCOUNT
    bob = await here.new_person("bob@example.com")
    session = await here.session(AuthenticationResult(bob))
    assert session
    await service.connect(here.deps, session, replace(ANN, groups=()))
    assert await here.sign_in(ANN) == bob


async def test_without_roles_somebody_who_is_invited_joins(here: Here) -> None:
    here.deps = replace(here.deps, role_by_group={}, account_email="")
    owner = await here.session(AuthenticationResult(await here.person("owner@example.com")))
    assert isinstance(owner, sessions.Session)
    invitation = await invitations.create(here.deps, owner, email=ANN.email, role="viewer")
    assert invitation.url
    assert await here.refuses(replace(ANN, email="bob@example.com")) == service.NO_ACCOUNT
    result = await service.sign_in(here.deps, ANN)
    assert await here.role(result.person) is None
    session = await here.session(result)
    assert session
    await invitations.accept(here.deps, session, invitation.url.rpartition("/")[2])
    assert await here.role(result.person) == "viewer"


async def test_an_invitation_by_somebody_who_may_not_invite_any_more_admits_nobody(here: Here) -> None:
    here.deps = replace(here.deps, role_by_group={}, account_email="")
    admin = await here.new_person("admin@example.com")
    await here.set_role(admin, "admin")
    async with here.deps.db.write() as tx:
        token = await sessions.create(
            tx, admin.id, user_agent="", ip="", now=here.deps.clock(), account_id=here.account_id
        )
    session = await here.session_of(token)
    assert isinstance(session, sessions.Session)
    await invitations.create(here.deps, session, email=ANN.email, role="viewer")
    async with here.deps.db.write() as tx:
        await memberships.change_role(tx, here.account_id, admin.id, "editor")
    assert await here.refuses(ANN) == service.NO_ACCOUNT


async def test_the_account_of_the_setting_keeps_its_email(here: Here) -> None:
    """Else the next account with this email would get everybody who signs in."""
    auth, owner = here.deps, await here.person("owner@example.com")
    bob = await here.new_person("bob@example.org")
    await here.set_role(bob, "owner")
    session = await here.session(AuthenticationResult(owner))
    assert isinstance(session, sessions.Session)
    with pytest.raises(Invalid) as refused:
        await account_settings.change_email(auth, session, bob.email)
    assert refused.value.errors == {"email": [account_settings.NAMED_BY_SETTING]}
    assert await profile.change_email(auth, session, "renamed@example.com")
    actor = Actor(here.account_id, "person", bob.id, bob.email)
    await members.change_role(auth, actor, owner.id, "admin")
    await members.remove(auth, actor, owner.id)
    with pytest.raises(Conflict):
        await here.new_person("owner@example.com")
    assert await here.role(await here.sign_in()) == "editor"


async def test_says_that_the_account_of_the_setting_is_missing(here: Here) -> None:
    here.deps = replace(here.deps, account_email="nobody@example.com")
    assert await here.refuses(ANN) == service.NO_OIDC_ACCOUNT


async def test_an_identity_that_was_replaced_starts_no_session(here: Here) -> None:
    """The sign-in came before the change, its session would come after it."""
    result = await service.sign_in(here.deps, ANN)
    session = await here.session(result)
    assert session
    await service.connect(here.deps, session, replace(ANN, subject="ann-2"))
    with pytest.raises(NotFound):
        await here.token(result)


async def test_verifies_only_the_own_identity(here: Here, clock: FakeClock) -> None:
    session = await here.session(await service.sign_in(here.deps, ANN))
    assert session
    clock.move(timedelta(hours=1))
    await service.verify(here.deps, session, ANN)
    with pytest.raises(SignInRefused):
        await service.verify(here.deps, session, replace(ANN, subject="bob-1"))


class _DisconnectsAfterReading:
    """A database in which the person disconnects their identity after the next read transaction."""

    def __init__(self, db: Database, person: Person) -> None:
        self._db, self._person, self.write = db, person, db.write

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        async with self._db.read() as tx:
            yield tx
        async with self._db.write() as tx:
            await identities.disconnect(tx, self._person.id)


async def test_an_identity_that_is_disconnected_meanwhile_verifies_no_session(here: Here, clock: FakeClock) -> None:
    here.deps = replace(here.deps, role_by_group={})
    ann = await here.new_person("ann@example.com")
    token = await here.token(AuthenticationResult(ann))
    session = await here.session_of(token)
    assert session
    await service.connect(here.deps, session, ANN)
    clock.move(timedelta(hours=1))
    db: Any = _DisconnectsAfterReading(here.deps.db, ann)
    with pytest.raises(SignInRefused):
        await service.verify(replace(here.deps, db=db), session, ANN)
    kept = await here.session_of(token)
    assert kept
    assert kept.authenticated_at == session.authenticated_at


# ── sign-out ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def signed_in(here: Here, provider: IdentityProvider) -> list[str]:
    """Sessions of Ann in two browsers, and one of Bob."""
    ann, bob = replace(ANN, issuer=provider.issuer), replace(ANN, subject="bob-1", email="bob@example.com")
    identities = ann, replace(ann, session_id="session-2"), replace(bob, issuer=provider.issuer, session_id="session-3")
    return [await here.token(await service.sign_in(here.deps, identity)) for identity in identities]


async def alive(here: Here, tokens: list[str]) -> list[bool]:
    return [await here.session_of(token) is not None for token in tokens]


async def test_the_provider_ends_one_session(here: Here, provider: IdentityProvider, signed_in: list[str]) -> None:
    await service.end_sessions(here.deps, provider.logout_token(sub="ann-1", sid="session-1"))
    assert await alive(here, signed_in) == [False, True, True]


async def test_the_provider_ends_all_sessions_of_a_user(
    here: Here, provider: IdentityProvider, signed_in: list[str]
) -> None:
    await service.end_sessions(here.deps, provider.logout_token(sub="ann-1"))
    assert await alive(here, signed_in) == [False, False, True]


async def test_a_logout_token_counts_once(here: Here, provider: IdentityProvider, signed_in: list[str]) -> None:
    token = provider.logout_token(sub="ann-1", jti="first")
    await service.end_sessions(here.deps, token)
    with pytest.raises(SignInRefused):
        await service.end_sessions(here.deps, token)


WRONG = {
    "iss": {"iss": "https://evil.test"},
    "aud": {"aud": "another client"},
    "expired": {"exp": 0},
    "old": {"iat": 0},
    "no events": {"events": REMOVED},
    "another event": {"events": {"https://example.com/event": {}}},
    "events are a list": {"events": ["http://schemas.openid.net/event/backchannel-logout"]},
    "an ID token": {"nonce": "a"},
    "no jti": {"jti": REMOVED},
    "nobody": {"sub": REMOVED},
    "sid of another kind": {"sid": {"a": 1}},
}


@pytest.mark.parametrize("name", WRONG)
async def test_refuses_wrong_logout_tokens(
    here: Here, provider: IdentityProvider, signed_in: list[str], name: str
) -> None:
    with pytest.raises(SignInRefused):
        await service.end_sessions(here.deps, provider.logout_token(**{"sub": "ann-1", **WRONG[name]}))
    assert all(await alive(here, signed_in))


async def test_refuses_logout_tokens_of_strangers(here: Here, provider: IdentityProvider, signed_in: list[str]) -> None:
    provider.sign = lambda header, claims: jwt.encode(claims, "a" * 32, "HS256", headers={"kid": header["kid"]})
    with pytest.raises(SignInRefused):
        await service.end_sessions(here.deps, provider.logout_token(sub="ann-1"))
    provider.sign, provider.header = None, {"typ": "at+jwt"}
    with pytest.raises(SignInRefused):
        await service.end_sessions(here.deps, provider.logout_token(sub="ann-1"))
    assert all(await alive(here, signed_in))


async def test_signs_out_at_the_provider(here: Here, provider: IdentityProvider) -> None:
    session = service.provider_session(replace(ANN, issuer=provider.issuer))
    url = await service.sign_out_url(here.deps, session)
    assert url == (
        f"{provider.issuer}/logout?from=waypost&client_id=waypost+%26+co"
        "&post_logout_redirect_uri=http%3A%2F%2Fapp.test%2Flogin&id_token_hint=a.b.c"
    )
    assert await service.sign_out_url(here.deps, replace(session, issuer="https://before.test")) is None


async def test_signs_out_here_alone_if_the_provider_is_down(here: Here, provider: IdentityProvider) -> None:
    provider.answers["/.well-known/openid-configuration"] = Answer(500)
    assert await service.sign_out_url(here.deps, service.provider_session(replace(ANN, issuer=provider.issuer))) is None


def test_a_waiting_identity_is_sealed(deps: Deps, clock: FakeClock) -> None:
    long = replace(
        ANN, subject="s" * 255, session_id="i" * 255, name="é" * 255, groups=("it", *("g" * 100 for _ in range(100)))
    )
    text = pending.seal(deps.key, long, deps.role_by_group, clock())
    assert len(text) < 3_000
    assert pending.unseal(deps.key, text, clock()) == replace(long, name="", id_token="", groups=("it",))
    assert pending.unseal(deps.key, text[:-8] + "AAAAAAA=", clock()) is None
    assert pending.unseal(b"k" * 32, text, clock()) is None
    clock.move(timedelta(seconds=pending.LIFETIME + 1))
    assert pending.unseal(deps.key, text, clock()) is None
