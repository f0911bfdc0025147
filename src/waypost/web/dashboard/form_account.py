"""The account that a form was made for.

A form in one tab must not change the account that the session shows since another tab switched. So every form of a page
has the account's id, and is refused in another account. Forms are found in the rendered page: none can be forgotten.
"""

import re
from collections.abc import Mapping
from typing import Any

from waypost.accounts.sessions.store import PersonSession, Session
from waypost.kit.errors import Forbidden
from waypost.web.dashboard.page_error import PageError

SESSION, ACCOUNTS = "waypost.session", "waypost.accounts"
"""Keys in the ASGI scope: the session or None; the accounts to switch to."""
_FIELD = "_account"
_FORM = re.compile(r'<form\b[^>]*\bmethod="post"[^>]*>')


class OtherAccount(PageError, Forbidden):
    """The session shows another account than the form was made for."""


def add_account(html: str, session: PersonSession | None) -> str:
    """Add the account's id to every form."""
    if not isinstance(session, Session):
        return html
    field = f'<input type="hidden" name="{_FIELD}" value="{session.account.id}">'
    return _FORM.sub(lambda form: form[0] + field, html)


def take_account(session: Session | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without the account's id. Raises OtherAccount.

    `session`: None for a page that is the same in each account of the person.
    """
    if session and fields.get(_FIELD) not in (None, str(session.account.id)):
        raise OtherAccount(
            f"You switched to the account {session.account.name} in the meantime. Nothing was saved."
            " Switch back, and send the form again.",
            title="Other account",
            next_step=("/account/accounts", "Switch account"),
        )
    return {name: value for name, value in fields.items() if name != _FIELD}
