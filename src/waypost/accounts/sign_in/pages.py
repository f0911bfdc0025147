"""Sign-in, sign-out and sign-up."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.people.email_link_pages import valid_link
from waypost.accounts.sessions import provider_sessions
from waypost.accounts.sessions.start import start_session
from waypost.accounts.setup import first_start, signup
from waypost.accounts.sign_in import passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.kit.errors import Forbidden, Invalid, RateLimited, WaypostError
from waypost.web.dashboard import BLANK, Form, PageError, Pages, get, post, redirect


class SignupClosed(PageError, Forbidden):
    """Nobody can sign up without an invitation, or at all."""


class AuthPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            *password_routes(
                self._deps.auth,
                post("/login", self.login, "public"),
                post("/login/passkey/options", self.passkey_options, "public"),
                post("/login/passkey", self.login_by_passkey, "public"),
                get("/signup", self.show_signup, "public"),
                post("/signup", self.signup, "public"),
                get("/invite/{token}", self.show_signup, "public"),
                post("/invite/{token}", self.signup, "public"),
            ),
            get("/login", self.show_login, "public"),
            post("/logout", self.logout, "public"),
        ]

    # ── sign-in and sign-out ────────────────────────────────────────────────────────────────────────────────────────

    async def show_login(self, request: Request) -> Response:
        path = safe_next_path(request.query_params.get("next", ""))
        if await self._auth.peek_session(request):
            return redirect(path)
        if await self._has_no_owner():
            return redirect("/setup")
        return self._render_login(request, Form({"next": path}))

    async def login(self, request: Request) -> Response:
        form = await self._read_public(request)
        email, password = form.text("email"), form.text("password")
        try:
            sign_in.require_credentials(email, password)
            person_with_hash = await sign_in.find_with_password(self._deps.auth, email)
            client = await self._deps.sign_in_limiter.check(request, email, person_with_hash)
            authenticated = await sign_in.sign_in(self._deps.auth, email, person_with_hash, password, client)
        except (Invalid, RateLimited) as error:
            return self._render_login(request, form, error)
        return await start_session(self._deps, self._auth, request, authenticated, safe_next_path(form.text("next")))

    async def passkey_options(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        await self._deps.sign_in_limiter.check(request)
        options = await passkeys.authentication_options(self._deps.auth)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def login_by_passkey(self, request: Request) -> Response:
        form = await self._read_public(request)
        try:
            await self._deps.sign_in_limiter.check(request)
            authenticated = await passkeys.authenticate(self._deps.auth, form.text("credential"))
        except (Invalid, RateLimited) as error:
            return self._render_login(request, form, error)
        return await start_session(self._deps, self._auth, request, authenticated, safe_next_path(form.text("next")))

    async def logout(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        url = await self._provider_sign_out_url(request) if self._deps.oidc else None
        # a redirect to another site would end at the policy for forms
        page = self._views.render_page(request, "account/signing_out.html", url=url) if url else None
        response = page or redirect("/login")
        if url:
            response.headers["Refresh"] = f"0; url={url}"
        await self._auth.sign_out(request, response)
        return response

    # ── sign-up ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_signup(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        token, policy = request.path_params.get("token"), self._deps.auth.signup
        if policy == "closed":
            raise SignupClosed(signup.CLOSED, title="Sign-up is closed")
        if token is None and policy == "invite":
            raise SignupClosed(signup.INVITED_ONLY, title="Sign-up is closed")
        if token is None and error is None and await self._has_no_owner():
            return redirect("/setup")
        email = (await valid_link(request, signup.get_invitation(self._deps.auth, token))).email if token else None
        needs_confirmation = self._deps.auth.sends_mail and token is None
        return self._views.form(
            request,
            "account/signup.html",
            form,
            error,
            email=email,
            needs_confirmation=needs_confirmation,
        )

    async def signup(self, request: Request) -> Response:
        form = await self._read_public(request)
        try:
            authenticated = await signup.sign_up(
                self._deps.auth,
                await self._deps.sign_in_limiter.check(request, form.text("email")),
                email=form.text("email"),
                name=form.text("name"),
                password=form.text("password"),
                invitation=request.path_params.get("token"),
            )
        except (Invalid, RateLimited) as error:
            return await self.show_signup(request, form, error)
        if authenticated is None:
            return self._views.render_page(request, "account/signed_up.html", email=form.text("email").strip())
        return await start_session(self._deps, self._auth, request, authenticated, "/")

    async def _has_no_owner(self) -> bool:
        return self._deps.auth.has_passwords and await first_start.find_pending(self._deps.auth.db) is not None

    async def _provider_sign_out_url(self, request: Request) -> str | None:
        """Return the page at which the provider ends the session that this one came from."""
        from waypost.accounts.oidc import service  # noqa: PLC0415  # only where a provider is configured

        session = await self._auth.peek_session(request)
        if session is None or self._deps.oidc is None:
            return None
        async with self._deps.auth.db.read() as tx:
            provider = await provider_sessions.find(tx, session.id)
        return await service.sign_out_url(self._deps.oidc, provider) if provider else None

    def _render_login(self, request: Request, form: Form, error: WaypostError | None = None) -> Response:
        has_passwords = self._deps.auth.has_passwords
        context: dict[str, Any] = {
            "can_sign_up": self._deps.auth.signup == "open" and has_passwords,
            "has_passwords": has_passwords,
            "has_sso": self._deps.oidc is not None,
        }
        return self._views.form(request, "account/login.html", form, error, **context)
