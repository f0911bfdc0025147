"""Pages for signed-out visitors: sign-up, sign-in, and the links in emails.

The page of a link shows a button and has no effect by itself: mail scanners open every link.
"""

import re
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from waypost.auth import AuthenticationResult, Person, identities, passkeys, profile, provider_sessions, sign_in, signup
from waypost.kit.errors import Forbidden, Invalid, NotFound, RateLimited, WaypostError
from waypost.kit.reserved import API_SEGMENTS, RESERVED
from waypost.resources.account.deps import Deps
from waypost.resources.account.password_routes import password_routes
from waypost.resources.account.session_start import start_session
from waypost.web.dashboard import BLANK, Form, NotSignedIn, PageError, Pages, get, post, read_form

T = TypeVar("T")

_LOCAL_PATH = re.compile(r"/([^/\\?#\x00-\x20\x7f]*)([/?#][^\\\x00-\x20\x7f]*)?")
_DOT_SEGMENT = re.compile(r"/(\.|%2e){1,2}(?=[/?#]|$)", re.IGNORECASE)
_PAGES = {"", *RESERVED} - API_SEGMENTS - {"login", "logout"}
_MAX_FORM_SIZE = 64 << 10  # these forms require no sign-in
_NOTICES = {
    "passkey": "The passkey was removed, and all sessions that used it were signed out, including this one. "
    "Sign in again.",
    "disconnected": "Single sign-on was disconnected, and all sessions that used it were signed out, including this "
    "one. Sign in again.",
    "expired": "You took longer than five minutes. Sign in again.",
    "person": "Your sign-in was deleted.",
    "deleted": "Your account was deleted. Its links are disabled, and its data is being deleted.",
}
LINK_EXPIRED = "This link has expired or was already used."
_AFTER_EXPIRY = {
    "confirm": "If you have confirmed your email before, just sign in.",
    "invite": "Ask for a new invitation.",
    "enter": "The administrator creates a new link with the command waypost account sign-in-link.",
}


class LinkExpired(PageError, NotFound):
    """The link of an email is not valid."""


class SignupClosed(PageError, Forbidden):
    """Nobody can sign up without an invitation, or at all."""


def safe_next_path(text: str) -> str:
    """Return the page of the dashboard to open after sign-in, the overview by default.

    Short links are refused because they can redirect to any site, and paths with dot segments because they can resolve
    to a short link.
    """
    match = _LOCAL_PATH.fullmatch(text)
    has_dots = _DOT_SEGMENT.search(text.partition("?")[0])  # those of a query change no path
    is_page = match and match[1] in _PAGES and not text.startswith("//") and not has_dots
    return text if is_page else "/"


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
                get("/forgot", self.show_forgot, "public"),
                post("/forgot", self.forgot, "public"),
                get("/reset/{token}", self.show_reset, "public"),
                post("/reset/{token}", self.reset, "public"),
            ),
            get("/login", self.show_login, "public"),
            post("/logout", self.logout, "public"),
            get("/confirm/{token}", self.show_confirm, "public"),
            post("/confirm/{token}", self.confirm, "public"),
            get("/enter/{token}", self.show_sign_in_link, "public"),
            post("/enter/{token}", self.sign_in_by_link, "public"),
        ]

    # ── sign-in and sign-out ────────────────────────────────────────────────────────────────────────────────────────

    async def show_login(self, request: Request) -> Response:
        path = safe_next_path(request.query_params.get("next", ""))
        if await self._auth.peek_session(request):
            return RedirectResponse(path, 303)
        return self._render_login(request, Form({"next": path}))

    async def login(self, request: Request) -> Response:
        form = await self._read_form(request)
        email, password = form.text("email"), form.text("password")
        try:
            sign_in.require_credentials(email, password)
            person_with_hash = await sign_in.find_with_password(self._deps.auth, email)
            client = await self._deps.sign_in_limiter.check(request, email, person_with_hash)
            authenticated = await sign_in.sign_in(self._deps.auth, email, person_with_hash, password, client)
        except (Invalid, RateLimited) as error:
            return self._render_login(request, form, error)
        return await self._sign_in(request, authenticated, safe_next_path(form.text("next")))

    async def passkey_options(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        await self._deps.sign_in_limiter.check(request)
        options = await passkeys.authentication_options(self._deps.auth)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def login_by_passkey(self, request: Request) -> Response:
        form = await self._read_form(request)
        try:
            await self._deps.sign_in_limiter.check(request)
            authenticated = await passkeys.authenticate(self._deps.auth, form.text("credential"))
        except (Invalid, RateLimited) as error:
            return self._render_login(request, form, error)
        return await self._sign_in(request, authenticated, safe_next_path(form.text("next")))

    async def logout(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        url = await self._provider_sign_out_url(request) if self._deps.oidc else None
        # a redirect to another site would end at the policy for forms
        page = self._views.render_page(request, "account/signing_out.html", url=url) if url else None
        response = page or RedirectResponse("/login", 303)
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
        form = await self._read_form(request)
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
        return await self._sign_in(request, authenticated, "/")

    # ── links in emails ─────────────────────────────────────────────────────────────────────────────────────────────

    async def show_forgot(self, request: Request) -> Response:
        return self._render_forgot(request, BLANK)

    async def forgot(self, request: Request) -> Response:
        form = await self._read_form(request)
        email = form.text("email")
        try:
            person_with_hash = await sign_in.find_with_password(self._deps.auth, email)
            await self._deps.sign_in_limiter.check(request, email, person_with_hash)
            await sign_in.request_password_reset(self._deps.auth, email)
        except (Invalid, RateLimited) as error:
            return self._render_forgot(request, form, error)
        return self._render_forgot(request, form, is_sent=True)

    async def show_reset(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        person = await valid_link(request, sign_in.get_reset_person(self._deps.auth, _token(request)))
        context: dict[str, Any] = {"email": person.email, "passkeys": (), "keys": (), "identity": None}
        context["has_second_factor"] = await sign_in.has_second_factor(self._deps.auth, person)
        if person.confirmed_at:
            context["passkeys"], context["keys"] = await sign_in.list_other_credentials(self._deps.auth, person)
            async with self._deps.auth.db.read() as tx:
                context["identity"] = await identities.find(tx, person.id)
        return self._views.form(request, "account/reset.html", form, error, **context)

    async def reset(self, request: Request) -> Response:
        form = await self._read_form(request)
        try:
            await self._deps.sign_in_limiter.check(request)
            reset = sign_in.reset_password(
                self._deps.auth,
                _token(request),
                form.text("password"),
                remove_credentials=form.is_checked("remove_credentials"),
                code=form.text("code"),
                ip=self._auth.storable_address(request),
            )
            authenticated = await valid_link(request, reset)
        except (Invalid, RateLimited) as error:
            return await self.show_reset(request, form, error)
        return await self._sign_in(request, authenticated, "/")

    async def show_confirm(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        person, email = await valid_link(request, profile.get_confirmation(self._deps.auth, _token(request)))
        is_signed_in = await self._is_signed_in(request, person)
        if not is_signed_in and not self._deps.auth.has_passwords:
            raise NotSignedIn
        return self._views.form(
            request,
            "account/confirm.html",
            form,
            error,
            email=email,
            is_first=email == person.email,
            is_signed_in=is_signed_in,
            has_password=await sign_in.has_password(self._deps.auth, person),
        )

    async def confirm(self, request: Request) -> Response:
        """Require the person's session or password: who reads the email may not have signed up."""
        self._auth.require_same_origin(request)
        person, _ = await valid_link(request, profile.get_confirmation(self._deps.auth, _token(request)))
        form, authenticated = BLANK, None
        try:
            if not await self._is_signed_in(request, person):
                if not self._deps.auth.has_passwords:
                    raise NotSignedIn
                form = await self._read_form(request)
                person_with_hash = await sign_in.find_with_password(self._deps.auth, person.email)
                client = await self._deps.sign_in_limiter.check(request, person.email, person_with_hash)
                password = form.text("password")
                authenticated = await sign_in.verify_password(self._deps.auth, person, password, client)
            confirmed = await valid_link(request, self._confirm(request))
        except (Invalid, RateLimited) as error:
            return await self.show_confirm(request, form, error)
        path = "/account?done=confirmed"
        if authenticated is None:
            return RedirectResponse(path, 303)
        return await self._sign_in(request, replace(authenticated, person=confirmed), path)

    async def _confirm(self, request: Request) -> Person:
        return await profile.confirm(self._deps.auth, _token(request), ip=self._auth.storable_address(request))

    async def show_sign_in_link(self, request: Request) -> Response:
        person = await valid_link(request, sign_in.get_sign_in_link_person(self._deps.auth, _token(request)))
        return self._views.render_page(request, "account/sign_in_link.html", email=person.email)

    async def sign_in_by_link(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        authenticated = await valid_link(request, sign_in.sign_in_by_link(self._deps.auth, _token(request)))
        return await self._sign_in(request, authenticated, "/")

    # ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _read_form(self, request: Request) -> Form:
        self._auth.require_same_origin(request)
        return await read_form(request, _MAX_FORM_SIZE)

    async def _sign_in(self, request: Request, authenticated: AuthenticationResult, path: str) -> Response:
        return await start_session(self._deps, self._auth, request, authenticated, path)

    async def _provider_sign_out_url(self, request: Request) -> str | None:
        """Return the page at which the provider ends the session that this one came from."""
        from waypost.auth.oidc import service  # noqa: PLC0415  # only where a provider is configured

        session = await self._auth.peek_session(request)
        if session is None or self._deps.oidc is None:
            return None
        async with self._deps.auth.db.read() as tx:
            provider = await provider_sessions.find(tx, session.id)
        return await service.sign_out_url(self._deps.oidc, provider) if provider else None

    async def _is_signed_in(self, request: Request, person: Person) -> bool:
        session = await self._auth.peek_session(request)
        return session is not None and session.person.id == person.id

    def _render_forgot(
        self, request: Request, form: Form, error: WaypostError | None = None, *, is_sent: bool = False
    ) -> Response:
        context: dict[str, Any] = {"is_sent": is_sent, "sends_mail": self._deps.auth.sends_mail}
        return self._views.form(request, "account/forgot.html", form, error, **context)

    def _render_login(self, request: Request, form: Form, error: WaypostError | None = None) -> Response:
        has_passwords = self._deps.auth.has_passwords
        context: dict[str, Any] = {
            "can_sign_up": self._deps.auth.signup == "open" and has_passwords,
            "has_passwords": has_passwords,
            "has_sso": self._deps.oidc is not None,
        }
        if error is None:
            context["notice"] = _NOTICES.get(request.query_params.get("done", ""))
        return self._views.form(request, "account/login.html", form, error, **context)


def _token(request: Request) -> str:
    token: str = request.path_params["token"]
    return token


async def valid_link(request: Request, result: Awaitable[T]) -> T:
    """Replace NotFound by an error about the link, with the next step for its kind."""
    try:
        return await result
    except NotFound:
        kind = request.url.path.split("/")[1]
        next_step = ("/forgot", "Request a new link") if kind == "reset" else None
        message = " ".join(filter(None, (LINK_EXPIRED, _AFTER_EXPIRY.get(kind))))
        raise LinkExpired(message, title="Link expired", next_step=next_step) from None
