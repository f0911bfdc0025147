"""Emails about second factors."""

from waypost.accounts.emails import Email

_ADDED = """Two-factor authentication was turned on for your sign-in at {base_url}.
All other sessions were signed out.
"""
_REMOVED = """Two-factor authentication was removed from your sign-in at {base_url}.
Your password alone signs you in now.
"""
_ALL_REMOVED = """The administrator removed two-factor authentication, passkeys and single sign-on from your sign-in at
{base_url}. Your password alone signs you in now, and all sessions were signed out.
"""
_CODES_REPLACED = """New recovery codes were created for your sign-in at {base_url}.
The earlier ones no longer work.
"""
_CODE_USED = """A recovery code was used at {base_url}. You have {left} left.
"""
_IF_NOT_YOU = """
If this was not you, reset your password immediately: {base_url}/forgot
Then contact the administrator of Waypost.
"""
_WRONG_CODES = """Someone entered your password at {base_url}, and then several wrong codes.
They are not signed in. If this was not you, change your password: {base_url}/account/security
"""


def added(base_url: str) -> Email:
    return _notice("Two-factor authentication is on", _ADDED, base_url)


def removed(base_url: str) -> Email:
    return _notice("Two-factor authentication was removed", _REMOVED, base_url)


def all_removed(base_url: str) -> Email:
    return _notice("Only your password signs you in now", _ALL_REMOVED, base_url)


def codes_replaced(base_url: str) -> Email:
    return _notice("New recovery codes", _CODES_REPLACED, base_url)


def code_used(base_url: str, left: int) -> Email:
    return _notice("A recovery code was used", _CODE_USED, base_url, left=left)


def wrong_codes(base_url: str) -> Email:
    return Email("Someone knows your password", _WRONG_CODES.format(base_url=base_url))


def _notice(subject: str, text: str, base_url: str, **values: int) -> Email:
    return Email(subject, (text + _IF_NOT_YOU).format(base_url=base_url, **values))
