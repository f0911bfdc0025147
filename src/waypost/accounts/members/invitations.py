"""Invitations to an account: by email, or by a link for anyone with it. Each works once, for 7 days.

The link in an email proves who reads the mailbox, so who invites never sees it where emails are sent: otherwise they
could sign up with the email of a third party. Who is invited by email joins with that email only.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from waypost import audit
from waypost.accounts import emails, roles, rules, store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import invitation_store
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.members.invitation_store import LIFETIME, Invitation
from waypost.accounts.model import AuthenticationResult, Person, Role, SignInClient
from waypost.accounts.people import profile
from waypost.accounts.people import store as people
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.accounts.setup import signup
from waypost.accounts.sign_in import passwords
from waypost.audit import Actor, Item
from waypost.database import Tx
from waypost.kit.errors import Forbidden, Invalid, NotFound, or_not_found
from waypost.kit.ids import new_id

MAX_OPEN = 100
MAX_PER_DAY = 100
MAX_AT_ONCE = 20
TOO_MANY = f"An account can have {MAX_OPEN} open invitations, and make {MAX_PER_DAY} a day. Revoke one, or wait."
INVITED = "This email is already invited. Resend the invitation."
UNCONFIRMED = "Confirm your email address first."
NOT_SENT = "This address has received too many emails. Try again tomorrow, or create a link and send it yourself."
OTHER_EMAIL = "This invitation is for {}. Sign in with that email, or ask for an invitation to {}."


@dataclass(frozen=True, slots=True)
class NewInvitation:
    email: str | None
    url: str | None
    """None if it was sent to the email, and only there."""


async def create(deps: Deps, session: Session, *, email: str, role: Role) -> NewInvitation:
    """Invite somebody by email; without one, return a link for anyone with it. Raises Invalid and Forbidden."""
    return (await create_all(deps, session, addresses=[email], role=role))[0]


async def create_all(deps: Deps, session: Session, *, addresses: Sequence[str], role: Role) -> list[NewInvitation]:
    """Invite everybody or nobody. Raises Invalid, with the email that is wrong, and Forbidden."""
    if len(addresses) > MAX_AT_ONCE:
        raise Invalid({"email": [f"At most {MAX_AT_ONCE} addresses at once."]})
    async with deps.db.write() as tx:
        await _require_may_invite(deps, tx, session, role)
        made = []
        for email in dict.fromkeys(map(rules.normalize_email, addresses)):
            try:
                made.append(await _create(deps, tx, session, email, role))
            except Invalid as error:
                if len(addresses) == 1 or "email" not in error.errors:
                    raise
                raise Invalid({"email": [f"{email}: {text}" for text in error.errors["email"]]}) from None
        return made


async def _create(deps: Deps, tx: Tx, session: Session, email: str, role: Role) -> NewInvitation:
    if email:
        rules.check_email_and_name(email, "")
    now, token = deps.clock(), secrets.token_urlsafe(32)
    await _check_limits(deps, tx, session.account.id, email)
    row: dict[str, Any] = {"id": new_id(), "account_id": session.account.id, "email": email or None, "role": role}
    row |= {"created_by": session.person.id, "created_at": now, "expires_at": now + LIFETIME}
    await invitation_store.add(tx, row, token)
    item = _item(row["id"], email)
    await audit.record(tx, session.actor, "invitation.created", now, item, details={"role": role})
    return await _send(deps, tx, session, email, role, token)


async def resend(deps: Deps, session: Session, invitation_id: UUID) -> NewInvitation:
    """Send the invitation again, or return a new link; the link before no longer works.

    Raises NotFound, Invalid and Forbidden.
    """
    now, token = deps.clock(), secrets.token_urlsafe(32)
    async with deps.db.write() as tx:
        await store.lock_account(tx, session.account.id)
        invitation = or_not_found(await invitation_store.find_by_id(tx, session.account.id, invitation_id))
        await _require_may_invite(deps, tx, session, invitation.role)
        values = {"created_by": session.person.id, "expires_at": now + LIFETIME}
        await invitation_store.renew(tx, invitation.id, token, **values)
        await audit.record(tx, session.actor, "invitation.resent", now, _item(invitation.id, invitation.email))
        return await _send(deps, tx, session, invitation.email or "", invitation.role, token)


async def revoke(deps: Deps, session: Session, invitation_id: UUID) -> None:
    """Raises NotFound and Forbidden."""
    async with deps.db.write() as tx:
        await store.lock_account(tx, session.account.id)
        invitation = or_not_found(await invitation_store.find_by_id(tx, session.account.id, invitation_id))
        await memberships.require_action(tx, session.actor, "members.write")
        await invitation_store.end(tx, invitation.id, deps.clock())
        item = _item(invitation.id, invitation.email)
        await audit.record(tx, session.actor, "invitation.revoked", deps.clock(), item)


async def list_open(deps: Deps, account_id: UUID) -> Sequence[Invitation]:
    """List open and expired invitations, newest first."""
    async with deps.db.read() as tx:
        return await invitation_store.list_open(tx, account_id)


async def get_open(deps: Deps, account_id: UUID, invitation_id: UUID) -> Invitation:
    """Raises NotFound if it was accepted or revoked."""
    async with deps.db.read() as tx:
        return or_not_found(await invitation_store.find_by_id(tx, account_id, invitation_id))


async def get(deps: Deps, token: str) -> Invitation:
    """Return a valid invitation without accepting it. Raises NotFound."""
    async with deps.db.read() as tx:
        return await _get_valid(deps, tx, token)


async def is_member(deps: Deps, invitation: Invitation, person_id: UUID) -> bool:
    async with deps.db.read() as tx:
        return await memberships.find(tx, invitation.account_id, person_id) is not None


async def has_sign_in(deps: Deps, invitation: Invitation) -> bool:
    """Return whether somebody signs in with the invited email."""
    async with deps.db.read() as tx:
        return bool(invitation.email and await people.find_by_email(tx, invitation.email))


async def accept(deps: Deps, session: PersonSession, token: str) -> None:
    """Join the account, and show it. Raises NotFound, and Invalid for another email and an unconfirmed one."""
    person = session.person
    async with changing_callers(deps.db) as tx:  # keys of an earlier membership
        invitation = await _get_locked(deps, tx, token)
        if deps.sends_mail and person.confirmed_at is None:
            raise Invalid({"body": [UNCONFIRMED]})
        if invitation.email not in (None, person.email):
            raise Invalid({"body": [OTHER_EMAIL.format(invitation.email, person.email)]})
        await _join(deps, tx, invitation, person, session.request_ip)
        await sessions.show_account(tx, session, invitation.account_id)


async def sign_up(
    deps: Deps, client: SignInClient, token: str, *, email: str, name: str, password: str, ip: str = ""
) -> AuthenticationResult | None:
    """Create a person without an account of their own, and let them join. An invited email replaces `email`.

    Works where sign-up is closed. Return None if the email has to be confirmed first: then the person opens the
    invitation again. Raises Forbidden where only single sign-on is
    allowed, Invalid, or NotFound if the invitation is no longer valid.
    """
    if not deps.has_passwords:
        raise Forbidden(signup.CLOSED)
    invitation = await get(deps, token)
    needs_confirmation = deps.sends_mail and invitation.email is None
    person = signup.new_person(deps, invitation.email or email, name, is_confirmed=not needs_confirmation)
    signup.check(person, password)
    hashed = await passwords.hash_password(password, client)
    try:
        async with deps.db.write() as tx:
            invitation = await _get_locked(deps, tx, token)
            await people.add(tx, person, hashed)
            if needs_confirmation:
                await profile.send_confirmation(deps, tx, person)
                return None
            await _join(deps, tx, invitation, person, ip)
    except IntegrityError:
        if not needs_confirmation:
            raise Invalid({"email": [profile.EMAIL_TAKEN]}) from None
        async with deps.db.write() as tx:
            await profile.notify_owner(deps, tx, person.email)
        return None
    return AuthenticationResult(person, password=hashed)


async def _require_may_invite(deps: Deps, tx: Tx, session: Session, role: Role) -> None:
    """Lock the account. Raises Forbidden and Invalid."""
    await store.lock_account(tx, session.account.id)
    action = roles.action_to_change(None, role)
    await memberships.require_action(tx, session.actor, action)
    if deps.sends_mail and session.person.confirmed_at is None:
        raise Invalid({"body": [UNCONFIRMED]})


async def _check_limits(deps: Deps, tx: Tx, account_id: UUID, email: str) -> None:
    now = deps.clock()
    open_count, day_count = await invitation_store.count(tx, account_id, after=now - timedelta(days=1))
    if open_count >= MAX_OPEN or day_count >= MAX_PER_DAY:
        raise Invalid({"body": [TOO_MANY]})
    if not email:
        return
    if await invitation_store.find_by_email(tx, account_id, email, now):
        raise Invalid({"email": [INVITED]})
    person = await people.find_by_email(tx, email)
    if person and await memberships.find(tx, account_id, person.id):
        raise Invalid({"email": [members.ALREADY_MEMBER.format(email)]})


async def _send(deps: Deps, tx: Tx, session: Session, email: str, role: Role, token: str) -> NewInvitation:
    url = f"{deps.base_url}/invite/account/{token}"
    if email:
        message = emails.invitation(deps.base_url, session.account.name, session.person.email, role, url)
        if not await emails.send(tx, message, to=email, now=deps.clock(), person=None):
            raise Invalid({"email": [NOT_SENT]})
    return NewInvitation(email or None, None if email and deps.sends_mail else url)


async def _get_valid(deps: Deps, tx: Tx, token: str) -> Invitation:
    """Raises NotFound, also if who made it may no longer invite."""
    invitation = or_not_found(await invitation_store.find(tx, token, deps.clock()))
    if not is_permitted(invitation):
        raise NotFound
    return invitation


def is_permitted(invitation: Invitation) -> bool:
    """Return whether who made the invitation may still give this role."""
    role = invitation.inviter_role
    return role is not None and roles.may(role, roles.action_to_change(None, invitation.role))


async def _get_locked(deps: Deps, tx: Tx, token: str) -> Invitation:
    """Lock the account, and read the invitation under its lock."""
    before = await _get_valid(deps, tx, token)
    await store.lock_account(tx, before.account_id)
    return await _get_valid(deps, tx, token)


async def _join(deps: Deps, tx: Tx, invitation: Invitation, person: Person, ip: str) -> None:
    """Add the member. Who is one already keeps the role, and the invitation stays valid."""
    account_id, now = invitation.account_id, deps.clock()
    if await memberships.find(tx, account_id, person.id):
        return
    if not await invitation_store.end(tx, invitation.id, now):
        raise NotFound
    await memberships.add(tx, account_id, person.id, invitation.role, now)
    actor = Actor(account_id, "person", person.id, person.email, ip)
    await members.record(tx, actor, person, None, invitation.role, now, {"invited_by": invitation.inviter_email})


def _item(invitation_id: UUID, email: str | None) -> Item:
    return Item(invitation_id, email or "link")
