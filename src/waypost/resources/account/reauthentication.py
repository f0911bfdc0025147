"""Confirm it's you: what a stolen session must not do asks for the password or a passkey once more (R35).

It holds for ten minutes, as a sign-in does. Forms ask for the password themselves; a page of its own takes a passkey.
"""

from typing import Any

from waypost.auth import passkeys, sign_in
from waypost.auth.sessions import Session
from waypost.kit.errors import NotFound
from waypost.resources.account.deps import Deps
from waypost.web.dashboard import Form
from waypost.web.dashboard.session_auth import NotSignedIn


async def require_recent(deps: Deps, session: Session, form: Form) -> Session:
    """Who signed in or confirmed just now, or sends the password. Raises Invalid on `current_password`, RateLimited."""
    await deps.sign_in_limiter.take_signed_in(session)
    try:
        return await sign_in.prove(deps.auth, session, form.text("current_password"))
    except NotFound:  # the session ended meanwhile
        raise NotSignedIn from None


async def proof(deps: Deps, session: Session) -> dict[str, Any]:
    """What the macro `proof` needs to know."""
    return {
        "has_password": await sign_in.has_password(deps.auth, session.account),
        "has_passkey": bool(await passkeys.of_account(deps.auth, session.account)),
        "is_recent": sign_in.is_fresh(deps.auth, session),
    }
