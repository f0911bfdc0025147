"""Starts the session of a person who has authenticated, or first asks for the code of their second factor."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from waypost.accounts import AuthenticationResult
from waypost.accounts.deps import Deps
from waypost.accounts.people.tokens import LIFETIMES
from waypost.accounts.second_factor import verification
from waypost.accounts.sign_in import service as sign_in
from waypost.web.dashboard import SessionAuth

CONNECT_PATH = "/account/single-sign-on"
DISCONNECT_PATH = f"{CONNECT_PATH}/disconnect"
PENDING = "identity"
"""Cookie of an identity at the provider that nobody is connected with yet."""
CODE_PATH = "/login/code"
CODE_COOKIE = "code"
"""Cookie of a browser that has sent the right password."""


def cookie_name(deps: Deps, name: str) -> str:
    """Return the name of a cookie that no other host of the domain can set."""
    return f"__Host-waypost-{name}" if deps.base_url.startswith("https:") else f"waypost-{name}"


async def start_session(
    deps: Deps, auth: SessionAuth, request: Request, authenticated: AuthenticationResult, path: str
) -> Response:
    """Redirect to `path`, or to the page that asks for the code."""
    is_complete = authenticated.has_second_factor or authenticated.passkey or authenticated.provider
    if not is_complete and await sign_in.has_second_factor(deps, authenticated.person):
        return await _ask_for_code(deps, authenticated, path)
    is_waiting = deps.oidc and cookie_name(deps, PENDING) in request.cookies
    response = RedirectResponse(CONNECT_PATH if is_waiting else path, 303)
    await auth.sign_in(request, authenticated, response)
    await deps.sign_in_limiter.remember(response, authenticated)
    return response


async def _ask_for_code(deps: Deps, authenticated: AuthenticationResult, path: str) -> Response:
    token = await verification.start(deps, authenticated.person)
    response = RedirectResponse(f"{CODE_PATH}?next={quote(path)}", 303)
    name = cookie_name(deps, CODE_COOKIE)
    max_age = int(LIFETIMES["second_factor"].total_seconds())
    is_secure = name.startswith("__Host-")
    response.set_cookie(name, token, max_age=max_age, secure=is_secure, httponly=True, samesite="lax")
    return response
