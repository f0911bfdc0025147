"""What is written to people about their accounts: plain text, each with the one thing there is to do."""

from waypost.auth.model import Account
from waypost.auth.tokens import LASTS, Purpose
from waypost.worker.mail_limit import MailKind

PATHS: dict[Purpose, str] = {
    "enter": "enter",
    "confirm": "confirm",
    "move": "confirm",
    "reset": "reset",
    "invite": "invite",
}

_SUBJECTS: dict[Purpose, str] = {
    "confirm": "Confirm your e-mail address",
    "move": "Confirm your new e-mail address",
    "reset": "Set a new password",
    "invite": "You are invited to Waypost",
}
_TEXTS: dict[Purpose, str] = {
    "confirm": "Welcome to Waypost. Confirm that this address is yours, and your account is ready:",
    "move": "Confirm that this address is yours, and you sign in to Waypost with it from then on:",
    "reset": "Somebody, hopefully you, has forgotten the password of your Waypost account. Set a new one here:",
    "invite": "You are invited to shorten links with Waypost. Make your account here:",
}
_LAST = "If it was not you who asked for this, do nothing: without the link nothing happens."

_MOVED = """Your Waypost account now has the address {address}, and mail about it goes there.

If it was not you who changed it, tell whoever runs {base_url} at once.
"""
_TAKEN = """Somebody, perhaps you, wanted a Waypost account with this address. It has one already; nothing was changed.

Sign in to it at {base_url}/login, or set a new password at {base_url}/forgot.
"""
_CHANGED = """The password of your Waypost account was changed, and every other session was ended.

If it was not you, set a new one at {base_url}/forgot at once.
"""


def link(base_url: str, purpose: Purpose, token: str) -> str:
    return f"{base_url}/{PATHS[purpose]}/{token}"


def letter(base_url: str, purpose: Purpose, token: str) -> tuple[str, str]:
    """(subject, text)"""
    span = LASTS[purpose]
    lasts = f"{span.days} day{'s' * (span.days > 1)}" if span.days else f"{span.seconds // 3600} hour"
    url = link(base_url, purpose, token)
    return _SUBJECTS[purpose], f"{_TEXTS[purpose]}\n\n{url}\n\nThe link works once, for {lasts}. {_LAST}\n"


def moved(base_url: str, address: str) -> tuple[str, str]:
    return "Your e-mail address was changed", _MOVED.format(address=address, base_url=base_url)


def taken(base_url: str) -> tuple[str, str]:
    return "Your address has an account already", _TAKEN.format(base_url=base_url)


def notice_kind(account: Account) -> MailKind:
    """Of a notice that something was changed. Whoever signed up with an unconfirmed address may be a stranger to it."""
    return "security" if account.confirmed_at else "requested"


def password_changed(base_url: str) -> tuple[str, str]:
    return "Your password was changed", _CHANGED.format(base_url=base_url)
