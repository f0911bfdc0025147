"""Where only single sign-on is allowed, the routes of passwords, passkeys and sign-up refuse."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.auth_deps import Deps
from waypost.kit.errors import Forbidden
from waypost.web.dashboard import PageError
from waypost.web.dashboard.pages import PageRoute

DISABLED = "This service uses single sign-on. Passwords, passkeys and sign-up are disabled."


class PasswordsDisabled(PageError, Forbidden):
    """Only single sign-on is allowed."""


def password_routes(deps: Deps, *routes: PageRoute) -> list[Route]:
    """Return the routes as they are, or ones that refuse."""
    if deps.has_passwords:
        return list(routes)
    return [
        PageRoute(route.path, _refuse, method, route.access)
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
    ]


async def _refuse(_request: Request) -> Response:
    raise PasswordsDisabled(DISABLED, title="Not available", next_step=("/login", "Sign in"))
