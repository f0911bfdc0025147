"""Audit log: what concerns a person's own sign-in is recorded in each account that the person is a member of."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from waypost import audit
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Person
from waypost.audit import Actor, AuditAction, Item
from waypost.database import Tx


async def record(
    tx: Tx,
    person: Person,
    ip: str,
    action: AuditAction,
    now: datetime,
    *,
    changes: audit.Changes | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    for membership in await memberships.list_of_person(tx, person.id):
        actor, item = Actor(membership.account.id, "person", person.id, person.email, ip), Item(person.id, person.email)
        await audit.record(tx, actor, action, now, item, changes=changes, details=details)


async def record_command(tx: Tx, person: Person, command: str, action: AuditAction, now: datetime) -> None:
    await record_by(tx, person, lambda account_id: Actor.command(account_id, command), action, now)


async def record_by(
    tx: Tx, person: Person, new_actor: Callable[[UUID], Actor], action: AuditAction, now: datetime
) -> None:
    """Record what somebody else did, in each account of the person."""
    for membership in await memberships.list_of_person(tx, person.id):
        await audit.record(tx, new_actor(membership.account.id), action, now, Item(person.id, person.email))
