"""Adds, changes and removes members of accounts.

Every function locks the account first and then decides: whether the caller's role still allows the change, and whether
the account keeps an owner. So of two owners who remove each other at the same time, one stays.

`actor`: a member of the account, or an operator with a command, who may do everything.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from waypost import audit, mail
from waypost.accounts import account_settings, emails, roles, rules, store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys import store as key_store
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import invitation_store
from waypost.accounts.members import store as memberships
from waypost.accounts.model import ROLES, Member, Person, Role
from waypost.accounts.people import past_emails, tokens
from waypost.accounts.people import store as people
from waypost.accounts.sessions import store as sessions
from waypost.audit import Actor, AuditAction, Item
from waypost.database import Tx
from waypost.kit.errors import Conflict, Invalid, or_not_found
from waypost.kit.ids import new_id

LAST_OWNER = "An account needs an owner. Make another member an owner first."
ALREADY_MEMBER = "{} is already a member of this account."
SIGNED_UP_NOW = "This email has signed up at this moment. Try again."
NO_RECEIVER = "Keys can only be handed over to an admin or owner of this account."
NOT_TO_OTHERS = "Only who removes a member can take over the keys."


async def add(deps: Deps, actor: Actor, email: str, role: Role) -> Member:
    """Add the person with this email, for operators; a new person if there is none. Raises Invalid and Conflict."""
    account_id = actor.account_id
    email = rules.normalize_email(email)
    rules.check_email_and_name(email, "")
    now = deps.clock()
    new = Person(new_id(), email, email.partition("@")[0], now, False, now, now)
    try:
        async with deps.db.write() as tx:
            await store.lock_account(tx, account_id)
            person = await people.find_by_email(tx, email)
            if person is None:
                person = new
                await people.add(tx, person, None)
            elif await memberships.find(tx, account_id, person.id):
                raise Conflict({"email": [ALREADY_MEMBER.format(email)]})
            await memberships.add(tx, account_id, person.id, role, now)
            await record(tx, actor, person, None, role, now)
            if role == "owner":
                await _notify_owners(deps, tx, actor, person, "owner")
    except IntegrityError:
        raise Conflict({"email": [SIGNED_UP_NOW]}) from None
    return Member(person, role, now)


async def change_role(deps: Deps, actor: Actor, person_id: UUID, role: Role) -> Member:
    """Give a member another role. Raises NotFound, Forbidden, and Conflict for the last owner."""
    account_id = actor.account_id
    async with changing_callers(deps.db) as tx:
        await store.lock_account(tx, account_id)
        member = or_not_found(await memberships.find_member(tx, account_id, person_id))
        if member.role == role:
            return member
        await memberships.require_action(tx, actor, roles.action_to_change(member.role, role))
        await set_role(deps, tx, actor, member, role)
    return Member(member.person, role, member.joined_at)


async def remove(deps: Deps, actor: Actor, person_id: UUID, *, keys_to: UUID | None = None) -> Person:
    """Remove a member, or let the actor leave. Their sessions and keys lose the account at once.

    `keys_to`: the person who takes over the member's keys, which are otherwise revoked: the actor, or whom a command
    names. Nobody who leaves hands over keys: they could go on using them with the rights of another. Raises NotFound,
    Forbidden, Conflict for the last owner, and Invalid for a receiver who may not have keys.
    """
    async with changing_callers(deps.db) as tx:
        return await _remove(deps, tx, actor, person_id, keys_to)


async def follow_groups(deps: Deps, account_id: UUID, person: Person, role: Role | None) -> None:
    """Give the person the role of their groups at an identity provider. None ends a membership that groups have given.

    The last owner stays. The account keeps its email, by which the operator's setting names it.
    """
    async with changing_callers(deps.db) as tx:
        await store.lock_account(tx, account_id)
        before = await memberships.find(tx, account_id, person.id)
        if before == "owner" != role and len(await memberships.list_owners(tx, account_id)) == 1:
            return
        if role is None and not await memberships.find_by_groups(tx, account_id, person.id):
            return
        if before not in (None, role):
            await _end_pending(tx, account_id, person, role, deps.clock())
        if role is not None:
            await memberships.set_by_groups(tx, account_id, person.id, role, deps.clock())
        else:
            await key_store.revoke_keys_of_member(tx, account_id, person.id, deps.clock())
            await memberships.remove(tx, account_id, person.id)
            await sessions.leave_account(tx, person.id, account_id)
        if before == role:
            return
        actor = Actor.system(account_id, "single sign-on")
        await record(tx, actor, person, before, role, deps.clock())
        if "owner" in (before, role):
            await _notify_owners(deps, tx, actor, person, role)


async def delete_person(deps: Deps, person: Person, ip: str) -> None:
    """Delete a person, who leaves all accounts, with their credentials and sessions.

    Raises Conflict for the last owner of an account.
    """
    async with changing_callers(deps.db) as tx:
        joined = await memberships.list_of_person(tx, person.id)
        for account_id in sorted(each.account.id for each in joined):
            actor = Actor(account_id, "person", person.id, person.email, ip)
            await _remove(deps, tx, actor, person.id, None)
        await past_emails.record(tx, deps.email_digest_keys, person, None, deps.clock())
        await people.remove(tx, person.id)
        await mail.delete_unsent(tx, person.id)


async def set_role(deps: Deps, tx: Tx, actor: Actor, member: Member, role: Role) -> None:
    """Set the role under the account's lock, and notify who is concerned. Raises Conflict for the last owner."""
    now = deps.clock()
    await _keep_owner(deps, tx, actor.account_id, member, role)
    await _end_pending(tx, actor.account_id, member.person, role, now)
    await memberships.change_role(tx, actor.account_id, member.person.id, role)
    await record(tx, actor, member.person, member.role, role, now)
    account = or_not_found(await store.find_account(tx, actor.account_id))
    if actor.id != member.person.id:
        await emails.notify(tx, emails.role_changed(deps.base_url, account.name, role), member.person, now=now)
    if "owner" in (member.role, role):
        await _notify_owners(deps, tx, actor, member.person, role)


async def record(
    tx: Tx,
    actor: Actor,
    person: Person,
    before: Role | None,
    role: Role | None,
    now: datetime,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record in the audit log that the person got another role. None: not a member."""
    action: AuditAction = "member.added" if before is None else "member.updated" if role else "member.removed"
    item = Item(person.id, person.email)
    await audit.record(tx, actor, action, now, item, changes={"role": [before, role]}, details=details)


async def _remove(deps: Deps, tx: Tx, actor: Actor, person_id: UUID, keys_to: UUID | None) -> Person:
    account_id, now = actor.account_id, deps.clock()
    await store.lock_account(tx, account_id)
    member = or_not_found(await memberships.find_member(tx, account_id, person_id))
    is_own = actor.id == person_id
    if not is_own:
        await memberships.require_action(tx, actor, roles.action_to_change(member.role, None))
    if keys_to is None:
        await key_store.revoke_keys_of_member(tx, account_id, person_id, now)
    else:
        await _hand_over_keys(deps, tx, actor, member.person, keys_to)
    await _keep_owner(deps, tx, account_id, member, None)
    await _end_pending(tx, account_id, member.person, None, now)
    await memberships.remove(tx, account_id, person_id)
    await sessions.leave_account(tx, person_id, account_id)
    details = {"keys": "handed over" if keys_to else "revoked"}
    await record(tx, actor, member.person, member.role, None, now, details)
    if not is_own:
        account = or_not_found(await store.find_account(tx, account_id))
        await emails.notify(tx, emails.removed(deps.base_url, account.name), member.person, now=now)
    if member.role == "owner":
        await _notify_owners(deps, tx, actor, member.person, None)
    return member.person


async def _end_pending(tx: Tx, account_id: UUID, person: Person, role: Role | None, now: datetime) -> None:
    """End what a person began or was offered with the role so far. `role`: the one after the change.

    Otherwise an offer or an invitation of an earlier membership would be valid again in a later one.
    """
    given = [each for each in ROLES if role and roles.may(role, roles.action_to_change(None, each))]
    await invitation_store.delete_offers_of(tx, account_id, person.id)
    await invitation_store.expire_sent_by(tx, account_id, person.id, now, kept=given)
    await invitation_store.end_sent_to(tx, account_id, person.email, now)
    await tokens.delete_all(tx, person.id, "change_email")
    await sessions.end_reauthentication(tx, person.id)


async def _keep_owner(deps: Deps, tx: Tx, account_id: UUID, member: Member, role: Role | None) -> None:
    """Before an owner gets another role or leaves. Raises Conflict if nobody else owns the account."""
    if member.role != "owner" or role == "owner":
        return
    owners = [each for each in await memberships.list_owners(tx, account_id) if each.id != member.person.id]
    if not owners:
        raise Conflict({"body": [LAST_OWNER]})
    await account_settings.move_email(deps, tx, account_id, member.person, owners, is_removed=role is None)


async def _hand_over_keys(deps: Deps, tx: Tx, actor: Actor, person: Person, receiver_id: UUID) -> None:
    if actor.type == "person" and receiver_id != actor.id:
        raise Invalid({"keys_to": [NOT_TO_OTHERS]})
    receiver = await memberships.find_member(tx, actor.account_id, receiver_id)
    if receiver_id == person.id or receiver is None or not roles.may(receiver.role, "keys.write"):
        raise Invalid({"keys_to": [NO_RECEIVER]})
    has_keys = await key_store.hand_over_keys(tx, actor.account_id, person.id, receiver_id)
    if has_keys and receiver_id != actor.id:
        account = or_not_found(await store.find_account(tx, actor.account_id))
        message = emails.keys_received(deps.base_url, account.name, person.email)
        await emails.notify(tx, message, receiver.person, now=deps.clock())


async def _notify_owners(deps: Deps, tx: Tx, actor: Actor, person: Person, role: Role | None) -> None:
    """Notify the owners that this person became one, or is none any more. Who did it or is it knows."""
    account = or_not_found(await store.find_account(tx, actor.account_id))
    message = emails.owners_changed(deps.base_url, account.name, person.email, is_owner=role == "owner")
    for owner in await memberships.list_owners(tx, actor.account_id):
        if owner.id not in (actor.id, person.id):
            await emails.notify(tx, message, owner, now=deps.clock())
