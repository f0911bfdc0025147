"""Every statement on `memberships`: which person is a member of which account, and with which role."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, delete, insert, select, update

from waypost.accounts import roles
from waypost.accounts.model import ROLES, Member, Membership, Person, Plan, Role, accounts, memberships, people
from waypost.accounts.people.store import PERSON
from waypost.accounts.roles import Action
from waypost.accounts.store import ACCOUNT, account_from
from waypost.audit import Actor
from waypost.database import Tx
from waypost.kit.errors import Forbidden

_members = memberships.c
_ACTIVE = and_(_members.account_id == accounts.c.id, accounts.c.deleted_at.is_(None))
_MEMBER = select(*PERSON, _members.role, _members.created_at).join_from(memberships, people)


async def add(tx: Tx, account_id: UUID, person_id: UUID, role: Role, now: datetime) -> None:
    """Raises IntegrityError if the person is a member already."""
    row = {"account_id": account_id, "person_id": person_id, "role": role, "created_at": now}
    await tx.execute(insert(memberships), row)


async def find(tx: Tx, account_id: UUID, person_id: UUID) -> Role | None:
    """Return the person's role in the account."""
    query = select(_members.role).where(*_match(account_id, person_id))
    return await tx.scalar(query)


async def find_by_groups(tx: Tx, account_id: UUID, person_id: UUID) -> Role | None:
    """Return the person's role if the groups of an identity have set it."""
    query = select(_members.role).where(*_match(account_id, person_id), _members.by_groups)
    return await tx.scalar(query)


async def set_by_groups(tx: Tx, account_id: UUID, person_id: UUID, role: Role, now: datetime) -> None:
    """Set the role that the groups of an identity give, also of a new member."""
    statement = update(memberships).where(*_match(account_id, person_id)).values(role=role, by_groups=True)
    if (await tx.execute(statement)).rowcount == 0:
        row = {"account_id": account_id, "person_id": person_id, "role": role, "by_groups": True, "created_at": now}
        await tx.execute(insert(memberships), row)


async def find_member(tx: Tx, account_id: UUID, person_id: UUID) -> Member | None:
    return await tx.find(_member, _MEMBER.where(*_match(account_id, person_id)))


async def require_action(tx: Tx, actor: Actor, action: Action) -> None:
    """Read the role of a member again, under the account's lock. Raises Forbidden."""
    if actor.type == "person" and actor.id:
        role = await find(tx, actor.account_id, actor.id)
        if role is None or not roles.may(role, action):
            raise Forbidden(roles.NOT_ALLOWED_NOW)


async def change_role(tx: Tx, account_id: UUID, person_id: UUID, role: Role) -> None:
    statement = update(memberships).where(*_match(account_id, person_id))
    await tx.execute(statement.values(role=role))


async def remove(tx: Tx, account_id: UUID, person_id: UUID) -> None:
    statement = delete(memberships).where(*_match(account_id, person_id))
    await tx.execute(statement)


async def list_owners(tx: Tx, account_id: UUID) -> list[Person]:
    """List the owners, the first one joined first."""
    query = select(*PERSON).join_from(memberships, people).where(_members.account_id == account_id)
    query = query.where(_members.role == "owner").order_by(_members.created_at, people.c.id)
    return [Person(*row) for row in await tx.execute(query)]


async def list_of_person(tx: Tx, person_id: UUID) -> list[Membership]:
    """List the person's accounts, the first one joined first."""
    query = select(*ACCOUNT, _members.role).join_from(memberships, accounts, _ACTIVE)
    query = query.where(_members.person_id == person_id).order_by(_members.created_at, accounts.c.id)
    return [Membership(account_from(*row[:-1]), row[-1]) for row in await tx.execute(query)]


async def list_of_account(tx: Tx, account_id: UUID) -> list[Member]:
    """List the members, owners first, then by name."""
    by_role = case({role: index for index, role in enumerate(reversed(ROLES))}, value=_members.role)
    query = _MEMBER.where(_members.account_id == account_id).order_by(by_role, people.c.name, people.c.id)
    return [_member(*row) for row in await tx.execute(query)]


async def follow_owner(tx: Tx, before: Person, after: Person, *, kept_email: str) -> None:
    """Rename the accounts that the person owns and that have the person's own name or email.

    `kept_email`: of the account that keeps its email.

    Call it before the person is changed: every transaction locks accounts before people.

    Raises IntegrityError if another account has the email.
    """
    owned = select(_members.account_id).where(_members.person_id == before.id, _members.role == "owner")
    is_owned = accounts.c.id.in_(owned), accounts.c.deleted_at.is_(None)
    for column in accounts.c.email, accounts.c.name:
        old, new = getattr(before, column.name), getattr(after, column.name)
        if old != new and (column is accounts.c.name or old != kept_email):
            values = {column.name: new, "updated_at": after.updated_at}
            await tx.execute(update(accounts).where(*is_owned, column == old).values(**values))


async def find_owned_with_plan(tx: Tx, person_id: UUID, plan: Plan) -> list[UUID]:
    """List the accounts that the person owns and that have this plan."""
    return [
        membership.account.id
        for membership in await list_of_person(tx, person_id)
        if membership.role == "owner" and membership.account.plan == plan
    ]


async def delete_all(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(memberships).where(_members.account_id == account_id))


def _match(account_id: UUID, person_id: UUID) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _members.account_id == account_id, _members.person_id == person_id


def _member(*columns: Any) -> Member:
    return Member(Person(*columns[: len(PERSON)]), *columns[len(PERSON) :])
