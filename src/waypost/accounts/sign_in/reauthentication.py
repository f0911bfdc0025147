"""The page that asks for a password, a passkey or single sign-on again: see `PersonPages`."""

from dataclasses import replace

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts.person_pages import PersonPages
from waypost.accounts.sessions.store import PersonSession
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.kit.errors import NotFound
from waypost.web.dashboard import Form, NotSignedIn, PageCall, redirect


class ReauthenticationPages(PersonPages):
    def endpoints(self) -> list[Route]:
        return [
            self.get("/account/verify", self.show, "person"),
            *self._password_routes(
                self.form("/account/verify", self.by_password, "person", self._render),
                self.post("/account/verify/passkey/options", self.passkey_options, "person"),
                self.form("/account/verify/passkey", self.by_passkey, "person", self._render),
            ),
        ]

    async def show(self, call: PageCall) -> Response:
        path = safe_next_path(call.query("next"))
        if self._is_recent(await self._after_sign_in(call)) and await self._is_proven(call) is not False:
            return redirect(path)
        return await self._render(replace(call, form=Form({"next": path})))

    async def by_password(self, call: PageCall) -> Response:
        if await sign_in.has_second_factor(self._deps, call.person):
            await self._require_password_and_code(call.person_session, call.form)
        else:
            await self._require_recent(await self._after_sign_in(call))
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
        context = {**await self._reauthentication(call), "sends_mail": self._deps.sends_mail}
        context["is_proof_missing"] = context["is_recent"] and await self._is_proven(call) is False
        if context["is_proof_missing"]:  # the password was not enough
            context["is_password_set"] = False
        return call.render("account/verify.html", call.form, **context)
