"""What a person began or was offered in an account ends when their role there changes or ends, however that happens."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from people import START, FakeClock, new_person
from sqlalchemy import Table, insert, select

import waypost.accounts.oidc.service  # noqa: F401  # its tables
from waypost import accounts
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.accounts.members import invitations, ownership
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.members.invitation_store import invitations as invitation_table
from waypost.accounts.members.invitation_store import ownership_offers
from waypost.accounts.model import Person, Role
from waypost.accounts.people import tokens
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import Session
from waypost.accounts.sign_in import service as sign_in
from waypost.audit import Actor
from waypost.database import Database, metadata
from waypost.kit.errors import NotFound
from waypost.settings import Settings

KEPT = {
    "memberships": "what the change is about",
    "api_keys": "revoked or handed over with the membership; a role limits them at each request",
    "passkeys": "of the person, in all accounts",
    "identities": "of the person, in all accounts",
    "second_factors": "of the person, in all accounts",
    "recovery_codes": "of the person, in all accounts",
}
"""Tables with rows of people that do not end with a membership, and why."""
KEPT_TOKENS = {"sign_in", "confirm", "reset", "invite", "passkey", "second_factor", "oidc", "logout"} | {
    "email_in_use",
    "wrong_codes",
}
"""They let a person sign in, or record something; none says anything about an account."""


@pytest.fixture
def deps(db: Database) -> Deps:
    return new_deps(Settings(secret_key="a key"), db, FakeClock())


@dataclass
class Place:
    """An account with the owners Ada and Bob and the admin Eve."""

    deps: Deps
    ada: Session
    bob: Session
    eve: Session

    @property
    def command(self) -> Actor:
        return Actor.command(self.ada.account.id, "a test")

    async def session(self, person: Person, account_id: UUID) -> Session:
        return await _session(self.deps, person, account_id)

    async def pending_of(self, person: Person) -> set[str]:
        """Return which kinds of things are pending for the person."""
        async with self.deps.db.read() as tx:
            offers = (await tx.execute(select(ownership_offers))).all()
            listed = (await tx.execute(select(invitation_table))).all()
            issued = tokens.one_time_tokens.c
            kept = (await tx.execute(select(issued.purpose).where(issued.person_id == person.id))).scalars().all()
            at = (await tx.execute(select(sessions.sessions).where(sessions.sessions.c.person_id == person.id))).all()
        found = {f"token {purpose}" for purpose in kept}
        found |= {"offer" for row in offers if person.id in (row.person_id, row.offered_by)}
        valid = [row for row in listed if row.ended_at is None and row.expires_at > START]
        found |= {"sent invitation" for row in valid if row.created_by == person.id}
        found |= {"invitation" for row in valid if row.email == person.email}
        return found | {"reauthentication" for row in at if START - row.authenticated_at < sign_in.RECENT}


async def _session(deps: Deps, person: Person, account_id: UUID) -> Session:
    async with deps.db.write() as tx:
        token = await sessions.create(tx, person.id, user_agent="", ip="", now=START, account_id=account_id)
    found = await sessions.find(deps.db, token, now=START)
    assert isinstance(found, Session)
    return found


@pytest.fixture
async def place(db: Database, deps: Deps) -> Place:
    account_id = (await new_person(db, "ada")).account_id
    ada, command = await accounts.get_person(db, "ada@example.com"), Actor.command(account_id, "a test")
    roles: dict[str, Role] = {"bob": "owner", "eve": "admin"}
    added = [(await members.add(deps, command, f"{name}@example.com", roles[name])).person for name in roles]
    return Place(deps, *[await _session(deps, each, account_id) for each in (ada, *added)])


async def removed(place: Place, session: Session) -> None:
    await members.remove(place.deps, place.command, session.person.id)


async def left(place: Place, session: Session) -> None:
    await members.remove(place.deps, session.actor, session.person.id)


async def lowered(place: Place, session: Session) -> None:
    await members.change_role(place.deps, place.command, session.person.id, "viewer")


async def lowered_by_group(place: Place, session: Session) -> None:
    await members.follow_groups(place.deps, session.account.id, session.person, "viewer")


async def lost_by_group(place: Place, session: Session) -> None:
    async with place.deps.db.write() as tx:
        await memberships.set_by_groups(tx, session.account.id, session.person.id, session.role, START)
    await members.follow_groups(place.deps, session.account.id, session.person, None)


PATHS = [removed, left, lowered, lowered_by_group, lost_by_group]
Path = Callable[[Place, Session], Awaitable[None]]


@pytest.mark.parametrize("path", PATHS)
async def test_ends_with_each_change_of_a_membership(place: Place, path: Path) -> None:
    await ownership.offer(place.deps, place.bob, place.eve.person.id, role_after="owner")
    await _ends_all(place, path, place.bob)
    await ownership.offer(place.deps, place.ada, place.eve.person.id, role_after="owner")
    await _ends_all(place, path, place.eve)


async def _ends_all(place: Place, path: Path, session: Session) -> None:
    await invitations.create(place.deps, session, email="", role="admin")
    async with place.deps.db.write() as tx:
        row = {"id": session.id, "account_id": session.account.id, "email": session.person.email, "role": "owner"}
        row |= {"created_by": place.ada.person.id, "created_at": START, "expires_at": START + timedelta(days=7)}
        await tx.execute(insert(invitation_table).values(**row, digest=str(session.id)))
        for purpose in get_args(tokens.Purpose):
            await tokens.issue(tx, purpose, now=START, person_id=session.person.id)
    kept = {f"token {purpose}" for purpose in KEPT_TOKENS}
    all_of_it = kept | {"token change_email", "offer", "sent invitation", "invitation", "reauthentication"}
    assert await place.pending_of(session.person) == all_of_it
    await path(place, session)
    assert await place.pending_of(session.person) == kept


async def test_lost_groups_end_nothing_of_a_membership_that_they_did_not_give(place: Place) -> None:
    await invitations.create(place.deps, place.eve, email="", role="admin")
    before = await place.pending_of(place.eve.person)
    await members.follow_groups(place.deps, place.eve.account.id, place.eve.person, None)
    assert await place.pending_of(place.eve.person) == before == {"sent invitation", "reauthentication"}


async def test_each_kind_of_row_and_token_is_considered() -> None:
    """A new table of people, or a new token, ends in `_end_pending`, or is named above with the reason."""
    of_people = {table.name for table in metadata.tables.values() if _refers_to_people(table)}
    assert of_people == {*KEPT, "invitations", "ownership_offers", "one_time_tokens", "sessions"}
    assert set(get_args(tokens.Purpose)) == KEPT_TOKENS | {"change_email"}


async def test_an_offer_of_an_earlier_membership_makes_nobody_an_owner(place: Place) -> None:
    await ownership.offer(place.deps, place.ada, place.eve.person.id, role_after="owner")
    await members.remove(place.deps, place.ada.actor, place.eve.person.id)
    invited = await invitations.create(place.deps, place.ada, email="eve@example.com", role="viewer")
    assert invited.url
    await invitations.accept(place.deps, place.eve, invited.url.rpartition("/")[2])
    with pytest.raises(NotFound):
        await ownership.accept(place.deps, await place.session(place.eve.person, place.ada.account.id))


async def test_a_sent_invitation_stays_while_its_sender_may_invite_so(place: Place) -> None:
    for role in ("viewer", "owner"):
        await invitations.create(place.deps, place.bob, email=f"{role}@example.com", role=role)  # type: ignore[arg-type]
    await members.change_role(place.deps, place.command, place.bob.person.id, "admin")
    await members.change_role(place.deps, place.command, place.bob.person.id, "owner")
    listed = await invitations.list_open(place.deps, place.ada.account.id)
    assert {each.role: each.expires_at > START for each in listed} == {"viewer": True, "owner": False}
    [ended] = [each for each in listed if each.role == "owner"]
    await invitations.resend(place.deps, place.ada, ended.id)


def _refers_to_people(table: Table) -> bool:
    foreign_keys: Any = table.foreign_keys
    return any(key.target_fullname == "people.id" for key in foreign_keys)
