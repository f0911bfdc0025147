"""Reauthentication: what a stolen session must not do requires the password, a passkey or single sign-on again.

It is valid for ten minutes, like a sign-in. Forms ask for the password themselves; a separate page takes a passkey, and
the code of a person who has a second factor.

How a person signs in is only changed by who proves as much as they have: see `require_proven`.
"""

from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.oidc import identities
from waypost.accounts.sessions.store import PersonSession, S
from waypost.accounts.sign_in import credentials, passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.kit.errors import Invalid, NotFound
from waypost.web.dashboard import Form, NotSignedIn, PageCall, Pages, redirect

PROVE_FIRST = (
    "Confirm that it's you with a passkey or single sign-on first. The password is not enough for this change."
)


async def require_recent(deps: Deps, session: S, form: Form) -> S:
    """Require a recent authentication or the password in the form. Raises Invalid and RateLimited."""
    await deps.sign_in_limiter.check_session(session)
    try:
        return await sign_in.reauthenticate(deps, session, form.text("current_password"))
    except NotFound:  # the session has ended
        raise NotSignedIn from None


async def require_proven(deps: Deps, session: S, form: Form) -> S:
    """Require a recent authentication, which was not by the password if the person has a passkey or an identity.

    Otherwise who knows the password would add a passkey of their own. Raises Invalid and RateLimited.
    """
    is_proven = await _is_proven(deps, session)
    if is_proven is None:
        return await require_recent(deps, session, form)
    if not is_proven or not sign_in.is_recent(deps, session):
        raise Invalid({"body": [PROVE_FIRST]})
    return session


async def refuse_unproven(deps: Deps, session: PersonSession) -> None:
    """For the second request of a change, whose first called `require_proven`. Raises Invalid."""
    if await _is_proven(deps, session) is False:
        raise Invalid({"body": [PROVE_FIRST]})


async def proof_context(deps: Deps, session: PersonSession) -> dict[str, Any]:
    """Return the variables of the template macro `reauthentication` for forms of `require_proven`."""
    return {**await reauthentication_context(deps, session), **await what_proof_changes(deps, session)}


async def what_proof_changes(deps: Deps, session: PersonSession) -> dict[str, bool]:
    """Return the variables that differ between `proof_context` and `reauthentication_context`."""
    if (is_proven := await _is_proven(deps, session)) is None:
        return {}
    return {"has_password": False, "is_recent": is_proven and sign_in.is_recent(deps, session)}


async def reauthentication_context(deps: Deps, session: PersonSession) -> dict[str, Any]:
    """Return the variables of the template macro `reauthentication`.

    `has_password`: whether a form can ask for the password alone. Otherwise it leads to the separate page.
    """
    has_passwords = deps.has_passwords
    known = await credentials.find(deps, session.person)
    return {
        "has_password": has_passwords and known.has_password and not known.has_second_factor,
        "is_password_set": has_passwords and known.has_password,
        "has_second_factor": known.has_second_factor,
        "has_passkey": has_passwords and known.has_passkey,
        "has_passwords": has_passwords,
        "is_first": known.is_empty,
        "sso_email": await _find_sso_email(deps, session),
        "is_recent": sign_in.is_recent(deps, session),
    }


async def _is_proven(deps: Deps, session: PersonSession) -> bool | None:
    issuer = deps.oidc.provider.client.issuer if deps.oidc else None
    return await credentials.is_proven(deps, session, issuer)


async def _find_sso_email(deps: Deps, session: PersonSession) -> str | None:
    """Return the email of the person at the single sign-on provider; None if they have not connected it."""
    if deps.oidc is None:
        return None
    async with deps.db.read() as tx:
        return await identities.find_email(tx, session.person.id, deps.oidc.provider.client.issuer)


class ReauthenticationPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/account/verify", self.show, "person"),
            *password_routes(
                self._deps,
                self.form("/account/verify", self.by_password, "person", self._render),
                self.post("/account/verify/passkey/options", self.passkey_options, "person"),
                self.form("/account/verify/passkey", self.by_passkey, "person", self._render),
            ),
        ]

    async def show(self, call: PageCall) -> Response:
        path, session = safe_next_path(call.query("next")), call.person_session
        if sign_in.is_recent(self._deps, session) and await _is_proven(self._deps, session) is not False:
            return redirect(path)
        return await self._render(replace(call, form=Form({"next": path})))

    async def by_password(self, call: PageCall) -> Response:
        if await sign_in.has_second_factor(self._deps, call.person):
            await self._require_password_and_code(call.person_session, call.form)
        else:
            await require_recent(self._deps, call.person_session, call.form)
        return redirect(safe_next_path(call.form.text("next")))

    async def _require_password_and_code(self, session: PersonSession, form: Form) -> None:
        await self._deps.sign_in_limiter.check_session(session)
        password, code = form.text("current_password"), form.text("code")
        try:
            await sign_in.reauthenticate_with_code(self._deps, session, password, code)
        except NotFound:  # the session has ended
            raise NotSignedIn from None

    async def passkey_options(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check_session(call.person_session)
        options = await passkeys.authentication_options(self._deps)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def by_passkey(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check_session(call.person_session)
        await sign_in.reauthenticate_by_passkey(self._deps, call.person_session, call.form.text("credential"))
        return redirect(safe_next_path(call.form.text("next")))

    async def _render(self, call: PageCall) -> Response:
        session = call.person_session
        context = {**await reauthentication_context(self._deps, session), "sends_mail": self._deps.sends_mail}
        is_proof_missing = context["is_recent"] and await _is_proven(self._deps, session) is False
        context |= {"is_proof_missing": is_proof_missing}
        if is_proof_missing:  # the password was not enough
            context["is_password_set"] = False
        return call.render("account/verify.html", call.form, **context)
