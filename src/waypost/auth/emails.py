"""Emails about accounts: plain text, each with one thing to do."""

from datetime import datetime
from typing import NamedTuple

from waypost.auth.model import Account
from waypost.auth.tokens import LIFETIMES, Purpose
from waypost.database import Tx
from waypost.worker import mail
from waypost.worker.mail import MailKind

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
    "confirm": "Welcome to Waypost. Confirm your email address to activate your account:",
    "change_email": "Confirm this email address to use it for your Waypost account:",
    "reset": "A password reset was requested for your Waypost account. Set a new password:",
    "invite": "You are invited to create a Waypost account:",
}

_EMAIL_CHANGED = """The email address of your Waypost account was changed to {email}.

If you did not change it, contact the administrator of {base_url} immediately.
"""
_ACCOUNT_EXISTS = """This email address was used to sign up for Waypost, but an account with it already exists.
Nothing was changed.

Sign in at {base_url}/login, or reset your password at {base_url}/forgot.
"""
_CREDENTIALS_CHANGED = """The password of your Waypost account was changed. All other sessions were signed out.

If you did not change it, reset your password immediately: {base_url}/forgot
"""


class Email(NamedTuple):
    subject: str
    text: str


def link(base_url: str, purpose: Purpose, token: str) -> str:
    return f"{base_url}/{PATHS[purpose]}/{token}"


def with_link(base_url: str, purpose: Purpose, token: str) -> Email:
    lifetime = LIFETIMES[purpose]
    days, hours = lifetime.days, lifetime.seconds // 3600
    lifetime_text = f"{days} day{'s' * (days > 1)}" if days else f"{hours} hour{'s' * (hours > 1)}"
    note = f"The link works once and expires in {lifetime_text}. If you did not request it, ignore this email."
    return Email(_SUBJECTS[purpose], f"{_TEXTS[purpose]}\n\n{link(base_url, purpose, token)}\n\n{note}\n")


def email_changed(base_url: str, email: str) -> Email:
    return Email("Your email address was changed", _EMAIL_CHANGED.format(email=email, base_url=base_url))


def account_exists(base_url: str) -> Email:
    return Email("An account with this email already exists", _ACCOUNT_EXISTS.format(base_url=base_url))


def password_changed(base_url: str) -> Email:
    return Email("Your password was changed", _CREDENTIALS_CHANGED.format(base_url=base_url))


async def send(tx: Tx, email: Email, *, to: str, now: datetime, account: Account | None) -> bool:
    """Send an email that was requested. Return False if the address has received too many."""
    account_id = account.id if account else None
    return await mail.send_later(
        tx, "requested", to=to, subject=email.subject, text=email.text, now=now, account_id=account_id
    )


async def notify(tx: Tx, email: Email, account: Account, *, now: datetime) -> None:
    """Send a notice of a change. Its kind is `requested` if the address is unconfirmed: it may be a third party's."""
    kind: MailKind = "security" if account.confirmed_at else "requested"
    await mail.send_later(
        tx, kind, to=account.email, subject=email.subject, text=email.text, now=now, account_id=account.id
    )
