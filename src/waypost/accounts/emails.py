"""Emails about accounts: plain text, each with one thing to do."""

import re
from datetime import datetime
from typing import NamedTuple

from waypost import mail
from waypost.accounts.model import Person, Role
from waypost.accounts.people.tokens import LIFETIMES, Purpose
from waypost.database import Tx

PATHS: dict[Purpose, str] = {
    "sign_in": "enter",
    "confirm": "confirm",
    "change_email": "confirm",
    "reset": "reset",
    "invite": "invite",
}

_SUBJECTS: dict[Purpose, str] = {
    "confirm": "Confirm your email address",
    "change_email": "Confirm your new email address",
    "reset": "Reset your password",
    "invite": "You are invited to Waypost",
}
_TEXTS: dict[Purpose, str] = {
    "confirm": "Welcome to Waypost. To activate your account at {base_url}, open this link:",
    "change_email": "To use this email address for your account at {base_url}, open this link:",
    "reset": "Someone requested a password reset for your account at {base_url}. To set a password, open this link:",
    "invite": "You are invited to create an account at {base_url}:",
}

_EMAIL_CHANGED = """The email address of your account at {base_url} was changed to {email}.

If you did not change it, contact the administrator of Waypost immediately.
"""
_ACCOUNT_EXISTS = """Someone tried to use this email address for an account at {base_url}.
You already have an account, and nothing was changed.

Sign in at {base_url}/login, or reset your password at {base_url}/forgot.
"""
_CREDENTIALS_CHANGED = """The password of your account at {base_url} was changed. All other sessions were signed out.

If you did not change it, reset your password immediately: {base_url}/forgot
"""
_WAY_ADDED = """{way} now signs you in at {base_url}.

If you did not add it, reset your password immediately, and remove everything that the page lists: {base_url}/forgot
"""

_WAY_REMOVED = """{way} no longer signs you in at {base_url}.

If you did not remove it, reset your password immediately, and remove everything that the page lists: {base_url}/forgot
"""
_ROLE_CHANGED = """Your role in the account {account} at {base_url} is now {role}.
"""
_REMOVED = """You were removed from the account {account} at {base_url}. Your other accounts are not affected.
"""
_KEYS_RECEIVED = """You now have the API keys of {email} in the account {account} at {base_url}. Your role limits them.

{email} may still know them. Revoke those that are not needed: {base_url}/integrations/api
"""
_OWNERS_CHANGED = """{email} {change} of the account {account} at {base_url}.

If this is wrong, change the owners immediately: {base_url}/account/members
"""
_ACCOUNT_DELETED = """{email} deleted the account {account} at {base_url}, of which you were an owner.

Its links no longer work.
"""
_INVITATION = """{inviter} invites you to the account {account} at {base_url}. Your role will be {role}.

To accept the invitation, open this link:

{url}

The link works once and expires in 7 days. If you do not expect this invitation, ignore this email.
"""
_OWNERSHIP_OFFERED = """{email} wants to make you the owner of the account {account} at {base_url}.

Accept or decline it: {base_url}/account/members
"""


_MAX_NAME_LENGTH = 60
_NOT_IN_NAMES = re.compile(r"[^\w '&+-]+")
"""Strangers receive invitations, with a name that an account has chosen: it must not become a link or a message."""


class Email(NamedTuple):
    subject: str
    text: str


def link(base_url: str, purpose: Purpose, token: str) -> str:
    return f"{base_url}/{PATHS[purpose]}/{token}"


def with_link(base_url: str, purpose: Purpose, token: str) -> Email:
    lifetime = LIFETIMES[purpose]
    days, hours = lifetime.days, lifetime.seconds // 3600
    lifetime_text = f"{days} day{'s' * (days > 1)}" if days else f"{hours} hour{'s' * (hours > 1)}"
    reason = "expect this invitation" if purpose == "invite" else "request it"
    note = f"The link works once and expires in {lifetime_text}. If you did not {reason}, ignore this email."
    text = _TEXTS[purpose].format(base_url=base_url)
    return Email(_SUBJECTS[purpose], f"{text}\n\n{link(base_url, purpose, token)}\n\n{note}\n")


def email_changed(base_url: str, email: str) -> Email:
    return Email("Your email address was changed", _EMAIL_CHANGED.format(email=email, base_url=base_url))


def account_exists(base_url: str) -> Email:
    return Email("An account with this email already exists", _ACCOUNT_EXISTS.format(base_url=base_url))


def password_changed(base_url: str) -> Email:
    return Email("Your password was changed", _CREDENTIALS_CHANGED.format(base_url=base_url))


def passkey_added(base_url: str) -> Email:
    return Email("A passkey was added", _WAY_ADDED.format(way="A new passkey", base_url=base_url))


def identity_connected(base_url: str, email: str) -> Email:
    text = _WAY_ADDED.format(way=f"Single sign-on as {email}", base_url=base_url)
    return Email("Single sign-on was connected", text)


def identity_disconnected(base_url: str) -> Email:
    return Email("Single sign-on was disconnected", _WAY_REMOVED.format(way="Single sign-on", base_url=base_url))


def role_changed(base_url: str, account: str, role: Role) -> Email:
    return Email("Your role was changed", _ROLE_CHANGED.format(account=account, base_url=base_url, role=role))


def removed(base_url: str, account: str) -> Email:
    return Email("You were removed from an account", _REMOVED.format(account=account, base_url=base_url))


def keys_received(base_url: str, account: str, email: str) -> Email:
    text = _KEYS_RECEIVED.format(email=email, account=account, base_url=base_url)
    return Email("API keys were handed over to you", text)


def owners_changed(base_url: str, account: str, email: str, *, is_owner: bool) -> Email:
    change = "is now an owner" if is_owner else "is no longer an owner"
    text = _OWNERS_CHANGED.format(email=email, change=change, account=account, base_url=base_url)
    return Email("The owners of an account were changed", text)


def account_deleted(base_url: str, account: str, email: str) -> Email:
    return Email("An account was deleted", _ACCOUNT_DELETED.format(email=email, account=account, base_url=base_url))


def invitation(base_url: str, account: str, inviter: str, role: Role, url: str) -> Email:
    account = _NOT_IN_NAMES.sub(" ", account)[:_MAX_NAME_LENGTH]
    text = _INVITATION.format(inviter=inviter, account=account, base_url=base_url, role=role, url=url)
    return Email("You are invited to an account", text)


def ownership_offered(base_url: str, account: str, email: str) -> Email:
    text = _OWNERSHIP_OFFERED.format(email=email, account=account, base_url=base_url)
    return Email("You are offered the ownership of an account", text)


async def send(tx: Tx, email: Email, *, to: str, now: datetime, person: Person | None) -> bool:
    """Send an email that was requested. Return False if the address has received too many."""
    owner_id = person.id if person else None
    return await mail.send_later(
        tx, "requested", to=to, subject=email.subject, text=email.text, now=now, owner_id=owner_id
    )


async def notify(tx: Tx, email: Email, person: Person, *, now: datetime) -> None:
    """Send a notice of a change. Its kind is `requested` if the address is unconfirmed: it may be a third party's."""
    kind: mail.MailKind = "security" if person.confirmed_at else "requested"
    await mail.send_later(
        tx, kind, to=person.email, subject=email.subject, text=email.text, now=now, owner_id=person.id
    )
