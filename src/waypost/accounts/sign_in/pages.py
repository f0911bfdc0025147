"""Sign-in, sign-out and sign-up."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts.person_pages import PersonPages, valid_link
from waypost.accounts.sessions import provider_sessions
from waypost.accounts.setup import first_start, signup
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.kit.errors import Forbidden
from waypost.web.dashboard import Form, PageCall, PageError, redirect


class SignupClosed(PageError, Forbidden):
    """Nobody can sign up without an invitation, or at all."""


class AuthPages(PersonPages):
    def endpoints(self) -> list[Route]:
        return [
            *self._password_routes(
                self.form("/login", self.login, "public", self._render_login),
                self.post("/login/passkey/options", self.passkey_options, "public"),
                self.form("/login/passkey", self.login_by_passkey, "public", self._render_login),
                self.get("/signup", self.show_signup, "public"),
                self.form("/signup", self.signup, "public", self.show_signup),
                self.get("/invite/{token}", self.show_signup, "public"),
                self.form("/invite/{token}", self.signup, "public", self.show_signup),
            ),
            self.get("/login", self.show_login, "public"),
            self.post("/logout", self.logout, "public"),
        ]

    # ── sign-in and sign-out ────────────────────────────────────────────────────────────────────────────────────────

    async def show_login(self, call: PageCall) -> Response:
        path = safe_next_path(call.query("next"))
        if await self._auth.peek_session(call.request):
            return redirect(path)
        if await self._has_no_owner():
            return redirect("/setup")
        return await self._render_login(replace(call, form=Form({"next": path})))

    async def login(self, call: PageCall) -> Response:
        email, password = call.form.text("email"), call.form.text("password")
        sign_in.require_credentials(email, password)
        person_with_hash = await sign_in.find_with_password(self._deps, email)
        client = await self._deps.sign_in_limiter.check(call.request, email, person_with_hash)
        authenticated = await sign_in.sign_in(self._deps, email, person_with_hash, password, client)
        path = safe_next_path(call.form.text("next"))
        return await self._start_session(call, authenticated, path)

    async def passkey_options(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check(call.request)
        options = await passkeys.authentication_options(self._deps)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def login_by_passkey(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check(call.request)
        authenticated = await passkeys.authenticate(self._deps, call.form.text("credential"))
        path = safe_next_path(call.form.text("next"))
        return await self._start_session(call, authenticated, path)

    async def logout(self, call: PageCall) -> Response:
        url = await self._provider_sign_out_url(call.request) if self._deps.oidc else None
        # a redirect to another site would end at the policy for forms
        page = call.render("account/signing_out.html", url=url) if url else None
        response = page or redirect("/login")
        if url:
            response.headers["Refresh"] = f"0; url={url}"
        await self._auth.sign_out(call.request, response)
        return response

    # ── sign-up ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_signup(self, call: PageCall) -> Response:
        token, policy = call.request.path_params.get("token"), self._deps.signup
        if policy == "closed":
            raise SignupClosed(signup.CLOSED, title="Sign-up is closed")
        if token is None and policy == "invite":
            raise SignupClosed(signup.INVITED_ONLY, title="Sign-up is closed")
        if token is None and call.error is None and await self._has_no_owner():
            return redirect("/setup")
        email = (await valid_link(call, signup.get_invitation(self._deps, token))).email if token else None
        needs_confirmation = self._deps.sends_mail and token is None
        return call.render("account/signup.html", email=email, needs_confirmation=needs_confirmation)

    async def signup(self, call: PageCall) -> Response:
        authenticated = await signup.sign_up(
            self._deps,
            await self._deps.sign_in_limiter.check(call.request, call.form.text("email")),
            email=call.form.text("email"),
            name=call.form.text("name"),
            password=call.form.text("password"),
            invitation=call.request.path_params.get("token"),
        )
        if authenticated is None:
            return call.render("account/signed_up.html", email=call.form.text("email").strip())
        return await self._start_session(call, authenticated, "/")

    async def _has_no_owner(self) -> bool:
        return self._deps.has_passwords and await first_start.find_pending(self._deps.db) is not None

    async def _provider_sign_out_url(self, request: Request) -> str | None:
        """Return the page at which the provider ends the session that this one came from."""
        from waypost.accounts.oidc import service  # noqa: PLC0415  # only where a provider is configured

        session = await self._auth.peek_session(request)
        if session is None or self._deps.oidc is None:
            return None
        async with self._deps.db.read() as tx:
            provider = await provider_sessions.find(tx, session.id)
        return await service.sign_out_url(self._deps.oidc, provider) if provider else None

    async def _render_login(self, call: PageCall) -> Response:
        has_passwords = self._deps.has_passwords
        context: dict[str, Any] = {
            "can_sign_up": self._deps.signup == "open" and has_passwords,
            "has_passwords": has_passwords,
            "has_sso": self._deps.oidc is not None,
        }
        return call.render("account/login.html", call.form, **context)
