"""Adds, changes and removes members of accounts.

Every function locks the account first and then decides: whether the caller's role still allows the change, and whether
the account keeps an owner. So of two owners who remove each other at the same time, one stays.

`caller`: the id of the person who changes something; None is an operator with a command.
"""

from datetime import datetime
from uuid import UUID

from waypost import audit
from waypost.audit import Actor, AuditAction, Item
from waypost.auth import account_settings, emails, memberships, people, roles, rules, sessions, store
from waypost.auth.caller_cache import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import Member, Person, Role
from waypost.auth.roles import Action
from waypost.database import Tx
from waypost.kit.errors import Conflict, Forbidden, Invalid, or_not_found
from waypost.kit.ids import new_id

LAST_OWNER = "An account needs an owner. Make another member an owner first."
ALREADY_MEMBER = "{} is already a member of this account."
NO_RECEIVER = "Keys can only be handed over to an admin or owner of this account."


async def add(deps: Deps, account_id: UUID, email: str, role: Role) -> Member:
    """Add the person with this email, for operators; a new person if there is none. Raises Invalid and Conflict."""
    email = rules.normalize_email(email)
    rules.check_email_and_name(email, "")
    now = deps.clock()
    async with deps.db.write() as tx:
        await store.lock_account(tx, account_id)
        person = await people.find_by_email(tx, email)
        if person is None:
            person = Person(new_id(), email, email.partition("@")[0], now, False, now, now)
            await people.add(tx, person, None)  # fails if the same email signs up right now
        elif await memberships.find(tx, account_id, person.id):
            raise Conflict({"email": [ALREADY_MEMBER.format(email)]})
        await memberships.add(tx, account_id, person.id, role, now)
        if role == "owner":
            await _notify_owners(deps, tx, account_id, person, "owner", caller=None)
    return Member(person, role, now)


async def change_role(deps: Deps, caller: UUID | None, account_id: UUID, person_id: UUID, role: Role) -> Member:
    """Give a member another role. Raises NotFound, Forbidden, and Invalid for the last owner."""
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.lock_account(tx, account_id)
            member = or_not_found(await memberships.find_member(tx, account_id, person_id))
            if member.role == role:
                return member
            await require_action(tx, caller, account_id, roles.action_to_change(member.role, role))
            await set_role(deps, tx, account_id, member, role, caller=caller)
    return Member(member.person, role, member.joined_at)


async def remove(
    deps: Deps, caller: UUID | None, account_id: UUID, person_id: UUID, *, keys_to: UUID | None = None
) -> Person:
    """Remove a member, or let the caller leave. Their sessions and keys lose the account at once.

    `keys_to`: the person who takes over the member's keys, which are otherwise revoked. Raises NotFound, Forbidden, and
    Invalid for the last owner and for a receiver who may not have keys.
    """
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.lock_account(tx, account_id)
            member = or_not_found(await memberships.find_member(tx, account_id, person_id))
            if caller != person_id:
                await require_action(tx, caller, account_id, roles.action_to_change(member.role, None))
            await _give_keys(deps, tx, account_id, person_id, keys_to)
            await _keep_owner(tx, account_id, member, None, now=deps.clock())
            await memberships.remove(tx, account_id, person_id)
            await sessions.leave_account(tx, person_id, account_id)
            account = or_not_found(await store.find_account(tx, account_id))
            if caller != person_id:
                await emails.notify(tx, emails.removed(deps.base_url, account.name), member.person, now=deps.clock())
            if member.role == "owner":
                await _notify_owners(deps, tx, account_id, member.person, None, caller=caller)
    return member.person


async def follow_groups(deps: Deps, account_id: UUID, person: Person, role: Role | None) -> None:
    """Give the person the role of their groups at an identity provider. None ends a membership that groups have given.

    The last owner stays. The account keeps its email, by which the operator's setting names it.
    """
    with invalidating_callers(deps.db):
        async with deps.db.write() as tx:
            await store.lock_account(tx, account_id)
            before = await memberships.find(tx, account_id, person.id)
            if before == "owner" != role and len(await memberships.list_owners(tx, account_id)) == 1:
                return
            if role is not None:
                await memberships.set_by_groups(tx, account_id, person.id, role, deps.clock())
            elif await memberships.find_by_groups(tx, account_id, person.id):
                await _give_keys(deps, tx, account_id, person.id, None)
                await memberships.remove(tx, account_id, person.id)
                await sessions.leave_account(tx, person.id, account_id)
            else:
                return
            if before != role:
                await _record_groups(deps, tx, account_id, person, before, role)


async def _record_groups(
    deps: Deps, tx: Tx, account_id: UUID, person: Person, before: Role | None, role: Role | None
) -> None:
    action: AuditAction = "member.added" if before is None else "member.updated" if role else "member.removed"
    actor, item = Actor.system(account_id, "single sign-on"), Item(person.id, person.email)
    await audit.record(tx, actor, action, deps.clock(), item, changes={"role": [before, role]})
    if "owner" in (before, role):
        await _notify_owners(deps, tx, account_id, person, role, caller=None)


async def require_action(tx: Tx, caller: UUID | None, account_id: UUID, action: Action) -> None:
    """Read the caller's role again, under the account's lock. Raises Forbidden."""
    if caller is None:
        return
    role = await memberships.find(tx, account_id, caller)
    if role is None or not roles.may(role, action):
        raise Forbidden(roles.NOT_ALLOWED_NOW)


async def set_role(deps: Deps, tx: Tx, account_id: UUID, member: Member, role: Role, *, caller: UUID | None) -> None:
    """Set the role under the account's lock, and notify who is concerned. Raises Invalid for the last owner."""
    await _keep_owner(tx, account_id, member, role, now=deps.clock())
    await memberships.change_role(tx, account_id, member.person.id, role)
    account = or_not_found(await store.find_account(tx, account_id))
    if caller != member.person.id:
        message = emails.role_changed(deps.base_url, account.name, role)
        await emails.notify(tx, message, member.person, now=deps.clock())
    if "owner" in (member.role, role):
        await _notify_owners(deps, tx, account_id, member.person, role, caller=caller)


async def _keep_owner(tx: Tx, account_id: UUID, member: Member, role: Role | None, *, now: datetime) -> None:
    """Before an owner gets another role or leaves. Raises Invalid if nobody else owns the account."""
    if member.role != "owner" or role == "owner":
        return
    owners = [each for each in await memberships.list_owners(tx, account_id) if each.id != member.person.id]
    if not owners:
        raise Conflict({"body": [LAST_OWNER]})
    is_leaving = role is None
    await account_settings.move_email(tx, account_id, member.person, owners, is_leaving=is_leaving, now=now)


async def _give_keys(deps: Deps, tx: Tx, account_id: UUID, person_id: UUID, receiver: UUID | None) -> None:
    if receiver is None:
        await store.revoke_keys_of_member(tx, account_id, person_id, deps.clock())
        return
    role = await memberships.find(tx, account_id, receiver)
    if receiver == person_id or role is None or not roles.may(role, "keys.write"):
        raise Invalid({"keys_to": [NO_RECEIVER]})
    await store.hand_over_keys(tx, account_id, person_id, receiver)


async def _notify_owners(
    deps: Deps, tx: Tx, account_id: UUID, person: Person, role: Role | None, *, caller: UUID | None
) -> None:
    """Notify the owners that this person became one, or is none any more. Who did it or is it knows."""
    account = or_not_found(await store.find_account(tx, account_id))
    message = emails.owners_changed(deps.base_url, account.name, person.email, is_owner=role == "owner")
    for owner in await memberships.list_owners(tx, account_id):
        if owner.id not in (caller, person.id):
            await emails.notify(tx, message, owner, now=deps.clock())
