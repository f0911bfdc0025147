"""A page of an account's members."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, case, exists, func, or_, select

from waypost.accounts.model import ROLES, Role, memberships, people
from waypost.accounts.second_factor import store as second_factors
from waypost.accounts.sessions.store import sessions
from waypost.accounts.sign_in.passkeys import passkeys
from waypost.database import Tx
from waypost.kit.pagination import Page, PageRequest

_members, _people = memberships.c, people.c


@dataclass(frozen=True, slots=True)
class ListedMember:
    id: UUID
    name: str
    email: str
    role: Role
    by_groups: bool
    joined_at: datetime
    seen_at: datetime | None
    """Last use of a session that shows this account."""
    has_second_factor: bool
    """Or a passkey, which replaces it."""


def _seen_at() -> ScalarSelect[Any]:
    shows_account = sessions.c.person_id == _people.id, sessions.c.account_id == _members.account_id
    return select(func.max(sessions.c.seen_at)).where(*shows_account).correlate(people, memberships).scalar_subquery()


_LISTED = select(
    _people.id,
    _people.name,
    _people.email,
    _members.role,
    _members.by_groups,
    _members.created_at,
    _seen_at(),
    or_(second_factors.is_on_for(_people.id), exists().where(passkeys.c.person_id == _people.id)),
).join_from(memberships, people)
_OWNERS_FIRST = case({role: index for index, role in enumerate(reversed(ROLES))}, value=_members.role)


async def list_page(
    tx: Tx, account_id: UUID, request: PageRequest, *, search: str = "", role: str = ""
) -> Page[ListedMember]:
    """List members, owners first, then by name. `search`: part of a name or email."""
    conditions: list[ColumnElement[bool]] = [_members.account_id == account_id]
    if search:
        conditions.append(
            _people.name.icontains(search, autoescape=True) | _people.email.icontains(search, autoescape=True)
        )
    if role:
        conditions.append(_members.role == role)
    order = _OWNERS_FIRST, func.lower(_people.name), _people.id
    ids = select(_people.id).join_from(memberships, people).where(*conditions).order_by(*order)
    found = await tx.scalars(ids.offset(request.offset).limit(request.per_page))
    of_page = _members.account_id == account_id, _people.id.in_(found.all())  # sessions of the others are not read
    rows = await tx.execute(_LISTED.where(*of_page).order_by(*order))
    count = select(func.count()).select_from(memberships).join(people).where(*conditions)
    return Page([ListedMember(*row) for row in rows], int(await tx.scalar(count) or 0), request)


async def find(tx: Tx, account_id: UUID, person_id: UUID) -> ListedMember | None:
    query = _LISTED.where(_members.account_id == account_id, _people.id == person_id)
    return await tx.find(ListedMember, query)
