"""What pages of people and accounts share: reauthentication, the start of sessions, and links in emails.

Reauthentication: what a stolen session must not do requires the password, a passkey or single sign-on again. It is
valid for ten minutes, like a sign-in. Forms ask for the password themselves; a separate page takes a passkey, and the
code of a person who has a second factor.

How a person signs in is only changed by who proves as much as they have: see `_require_proven`.
"""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.accounts import AuthenticationResult
from waypost.accounts.deps import Deps
from waypost.accounts.oidc import identities
from waypost.accounts.people.tokens import LIFETIMES
from waypost.accounts.second_factor import verification
from waypost.accounts.sign_in import credentials
from waypost.accounts.sign_in import service as sign_in
from waypost.http.cookies import Cookie
from waypost.kit.clock import EPOCH
from waypost.kit.errors import Forbidden, Invalid, NotFound
from waypost.web.dashboard import NotSignedIn, PageCall, PageError, Pages
from waypost.web.dashboard.pages import PageRoute

T = TypeVar("T")

PROVE_FIRST = (
    "Confirm that it's you with a passkey or single sign-on first. The password is not enough for this change."
)
DISABLED = "This service uses single sign-on. Passwords, passkeys and sign-up are disabled."
LINK_EXPIRED = "This link has expired or was already used."
_AFTER_EXPIRY = {
    "confirm": "If you have confirmed your email before, just sign in.",
    "invite": "Ask for a new invitation.",
    "enter": "The administrator creates a new link with the command waypost account sign-in-link.",
}
CONNECT_PATH = "/account/single-sign-on"
PENDING = "identity"
"""Cookie of an identity at the provider that nobody is connected with yet."""
CODE_PATH = "/login/code"
CODE_COOKIE = "code"
"""Cookie of a browser that has sent the right password."""


class PasswordsDisabled(PageError, Forbidden):
    """Only single sign-on is allowed."""


class LinkExpired(PageError, NotFound):
    """The link of an email is not valid."""


class PersonPages(Pages[Deps]):
    async def _require_recent(self, call: PageCall) -> PageCall:
        """Require a recent authentication or the password in the form, and return the call with the session after it.

        Raises Invalid and RateLimited.
        """
        session = call.person_session
        await self._deps.sign_in_limiter.check_session(session)
        try:
            session = await sign_in.reauthenticate(self._deps, session, call.form.text("current_password"))
        except NotFound:  # the session has ended
            raise NotSignedIn from None
        return replace(call, known=session)

    async def _require_proven(self, call: PageCall) -> PageCall:
        """Require a recent authentication, which was not by the password if the person has a passkey or an identity.

        Otherwise who knows the password would add a passkey of their own. Raises Invalid and RateLimited.
        """
        is_proven = await self._is_proven(call)
        if is_proven is None:
            return await self._require_recent(call)
        if not is_proven or not self._is_recent(call):
            raise Invalid({"body": [PROVE_FIRST]})
        return call

    async def _after_sign_in(self, call: PageCall) -> PageCall:
        """Return the call as if its session had begun long ago: that may have been by a link of an operator.

        A passkey or the provider, and a reauthentication since, count as before.
        """
        session = call.person_session
        if session.authenticated_at > session.created_at or await self._is_proven(call):
            return call
        return replace(call, known=replace(session, authenticated_at=EPOCH))

    async def _refuse_unproven(self, call: PageCall) -> None:
        """For the second request of a change, whose first called `_require_proven`. Raises Invalid."""
        if await self._is_proven(call) is False:
            raise Invalid({"body": [PROVE_FIRST]})

    async def _proof(self, call: PageCall) -> dict[str, Any]:
        """Return the variables of the template macro `reauthentication` for forms of `_require_proven`."""
        return {**await self._reauthentication(call), **await self._what_proof_changes(call)}

    async def _what_proof_changes(self, call: PageCall) -> dict[str, bool]:
        """Return the variables that differ between `_proof` and `_reauthentication`."""
        if (is_proven := await self._is_proven(call)) is None:
            return {}
        return {"has_password": False, "is_recent": is_proven and self._is_recent(call)}

    async def _reauthentication(self, call: PageCall) -> dict[str, Any]:
        """Return the variables of the template macro `reauthentication`.

        `has_password`: whether a form can ask for the password alone. Otherwise it leads to the separate page.
        """
        has_passwords = self._deps.has_passwords
        known = await credentials.find(self._deps, call.person)
        return {
            "has_password": has_passwords and known.has_password and not known.has_second_factor,
            "is_password_set": has_passwords and known.has_password,
            "has_second_factor": known.has_second_factor,
            "has_passkey": has_passwords and known.has_passkey,
            "has_passwords": has_passwords,
            "is_first": known.is_empty,
            "sso_email": await self._find_sso_email(call),
            "is_recent": self._is_recent(call),
        }

    def _is_recent(self, call: PageCall) -> bool:
        return sign_in.is_recent(self._deps, call.person_session)

    async def _is_proven(self, call: PageCall) -> bool | None:
        return await credentials.is_proven(self._deps, call.person_session, self._issuer)

    async def _find_sso_email(self, call: PageCall) -> str | None:
        """Return the email of the person at the single sign-on provider; None if they have not connected it."""
        if self._issuer is None:
            return None
        async with self._deps.db.read() as tx:
            return await identities.find_email(tx, call.person.id, self._issuer)

    @property
    def _issuer(self) -> str | None:
        return self._deps.oidc.provider.client.issuer if self._deps.oidc else None

    # ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _start_session(self, call: PageCall, authenticated: AuthenticationResult, path: str) -> Response:
        """Redirect to `path`, or to the page that asks for the code of the second factor."""
        is_complete = authenticated.has_second_factor or authenticated.passkey or authenticated.provider
        if not is_complete and await sign_in.has_second_factor(self._deps, authenticated.person):
            token = await verification.start(self._deps, authenticated.person)
            response = RedirectResponse(f"{CODE_PATH}?next={quote(path)}", 303)
            max_age = int(LIFETIMES["second_factor"].total_seconds())
            self._cookie(CODE_COOKIE).set(response, token, max_age=max_age)
            return response
        is_waiting = self._deps.oidc and self._cookie(PENDING).read(call.request)
        return await self._begin_session(
            call, authenticated, CONNECT_PATH if is_waiting else path, call.form.text("timezone")
        )

    async def _begin_session(
        self, call: PageCall, authenticated: AuthenticationResult, path: str, timezone: str
    ) -> Response:
        response = RedirectResponse(path, 303)
        await self._auth.sign_in(call.request, authenticated, response)
        await sign_in.keep_timezone(self._deps, authenticated.person, timezone)
        await self._deps.sign_in_limiter.remember(response, authenticated)
        return response

    def _cookie(self, name: str) -> Cookie:
        return Cookie(f"waypost-{name}", is_secure=self._deps.base_url.startswith("https:"))

    # ── what may be refused ─────────────────────────────────────────────────────────────────────────────────────────

    def _password_routes(self, *routes: PageRoute) -> list[Route]:
        """Return routes of passwords, passkeys and sign-up: where only single sign-on is allowed, ones that refuse."""
        if self._deps.has_passwords:
            return list(routes)
        return [
            PageRoute(route.path, _refuse, method, route.access)
            for route in routes
            for method in (route.methods or set()) - {"HEAD"}
        ]


async def _refuse(_request: Request) -> Response:
    raise PasswordsDisabled(DISABLED, title="Not available", next_step=("/login", "Sign in"))


async def valid_link(call: PageCall, result: Awaitable[T]) -> T:
    """Replace NotFound by an error about the link, with the next step for its kind."""
    try:
        return await result
    except NotFound:
        kind = call.request.url.path.split("/")[1]
        next_step = ("/forgot", "Request a new link") if kind == "reset" else None
        message = " ".join(filter(None, (LINK_EXPIRED, _AFTER_EXPIRY.get(kind))))
        raise LinkExpired(message, title="Link expired", next_step=next_step) from None
