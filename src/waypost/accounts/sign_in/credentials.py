"""Which credentials a person has, for the pages that ask for one of them."""

from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, bindparam, exists, false, or_, select

from waypost.accounts.auth_deps import Deps
from waypost.accounts.model import Person, people
from waypost.accounts.oidc.identities import identities
from waypost.accounts.second_factor import store as second_factors
from waypost.accounts.sessions.store import PersonSession, sessions
from waypost.accounts.sign_in.passkeys import passkeys
from waypost.database import Tx


class Credentials(NamedTuple):
    has_password: bool
    has_passkey: bool
    has_second_factor: bool
    has_identity: bool
    """Also at a provider that is no longer configured."""

    @property
    def is_empty(self) -> bool:
        """Whether the person only signs in by links of the operator, so that every session began by one."""
        return not any(self)


_FIND = select(
    people.c.password_hash.is_not(None),
    exists().where(passkeys.c.person_id == people.c.id),
    second_factors.is_on_for(people.c.id),
    exists().where(identities.c.person_id == people.c.id),
).where(people.c.id == bindparam("person_id"))

_ANYBODY_HAS_SOME = select(
    or_(exists().where(people.c.password_hash.is_not(None)), exists(passkeys.select()), exists(identities.select()))
)


async def find(deps: Deps, person: Person) -> Credentials:
    async with deps.db.point_read() as point_read:
        return await find_in(point_read, person.id)


async def find_in(tx: Tx, person_id: UUID) -> Credentials:
    found = await tx.find(Credentials, _FIND, {"person_id": person_id})
    return found or Credentials(False, False, False, False)


async def anybody_has_some(tx: Tx) -> bool:
    """Return whether any person can sign in without a link of the operator."""
    return bool(await tx.scalar(_ANYBODY_HAS_SOME))


async def is_proven(deps: Deps, session: PersonSession, issuer: str | None) -> bool | None:
    """Return whether a passkey or the provider proved the session last; None if its person has only the password.

    With a second factor the password is not enough for any session, so None, too. `issuer`: of the provider, if there
    is one: credentials that cannot be used here do not count.
    """
    has_passkey: ColumnElement[bool] = exists().where(passkeys.c.person_id == sessions.c.person_id)
    at_issuer = and_(identities.c.person_id == sessions.c.person_id, identities.c.issuer == issuer)
    query = select(
        second_factors.is_on_for(sessions.c.person_id),
        has_passkey if deps.has_passwords else false(),
        exists().where(at_issuer),
        sessions.c.passkey_id.is_not(None),
        sessions.c.by_provider,
    )
    async with deps.db.point_read() as point_read:
        row: Any = (await point_read.execute(query.where(sessions.c.id == session.id))).one_or_none()
    if row is None:
        return False
    has_second_factor, has_passkey_here, has_identity, by_passkey, by_provider = row
    if has_second_factor or not (has_passkey_here or has_identity):
        return None
    return bool(by_passkey or by_provider)
