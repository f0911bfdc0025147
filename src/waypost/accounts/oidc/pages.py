"""Pages of single sign-on, and what the provider sends. Only where one is configured."""

import base64
import secrets
from collections.abc import Awaitable
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.accounts.oidc import flow, pending, service
from waypost.accounts.oidc.deps import CALLBACK
from waypost.accounts.oidc.deps import Deps as OidcDeps
from waypost.accounts.oidc.errors import ProviderUnavailable, SignInRefused
from waypost.accounts.oidc.rules import Identity
from waypost.accounts.person_pages import CONNECT_PATH, PENDING, PersonPages
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.kit.errors import Forbidden, Unavailable
from waypost.web.dashboard import NotSignedIn, PageCall, PageError, redirect
from waypost.web.dashboard.session_auth import CROSS_SITE

log = structlog.get_logger(__name__)
T = TypeVar("T")

_BROWSER_SECRET = 32  # bytes
_PURPOSES: dict[str, flow.FlowPurpose] = {"connect": "connect", "verify": "verify"}
_OWN_SITES = {"same-origin", "none"}
_DISCONNECT = f"{CONNECT_PATH}/disconnect"
_LOG_INTERVAL = 60.0  # seconds
_BACK = "/login", "Back to sign-in"


class SsoUnavailable(PageError, Unavailable):
    """The provider cannot be used."""


class SsoRefused(PageError, Forbidden):
    """The provider's answer was refused."""


class OidcPages(PersonPages):
    _failed_logouts, _logged_at = 0, 0.0

    def endpoints(self) -> list[Route]:
        return [
            self.get("/login/oidc", self.start, "public"),
            self.get(CALLBACK, self.finish, "public"),
            self.form("/login/oidc/logout", self.end_sessions, "servers"),
            self.get(CONNECT_PATH, self.show_connection, "person"),
            self.form(CONNECT_PATH, self.connect, "person", self.show_connection),
            self.get(_DISCONNECT, self.show_disconnection, "person"),
            self.form(_DISCONNECT, self.disconnect, "person", self.show_disconnection),
        ]

    async def start(self, call: PageCall) -> Response:
        """Redirect to the provider. `for`: what the sign-in is for, if not to sign in."""
        purpose = _PURPOSES.get(call.query("for"), "sign_in")
        next_path = safe_next_path(call.query("next"))
        is_signed_in = await self._auth.peek_session(call.request) is not None
        if purpose == "sign_in" and is_signed_in:
            return redirect(next_path)
        if purpose != "sign_in" and not is_signed_in:
            raise NotSignedIn
        if purpose != "sign_in" and call.request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            raise Forbidden(CROSS_SITE)  # other sites must not make a session count as just authenticated
        await self._deps.sign_in_limiter.check(call.request)
        browser = self._browser(call.request) or secrets.token_bytes(_BROWSER_SECRET)
        begun = flow.start(self._oidc, browser, purpose, next_path, call.query("timezone"))
        response = redirect(await _explained(begun))
        self._cookie("oidc").set(response, base64.urlsafe_b64encode(browser).decode(), max_age=3_600)
        return response

    async def finish(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check(call.request)
        completed = await _explained(flow.finish(self._oidc, self._browser(call.request), call.request.query_params))
        next_path = safe_next_path(completed.next_path)
        session = await self._auth.peek_session(call.request)
        if completed.purpose == "connect":
            return self._keep(redirect(CONNECT_PATH), completed.identity)
        if completed.purpose == "verify":
            if session is None:
                raise NotSignedIn
            await _explained(service.verify(self._oidc, session, completed.identity))
            return redirect(next_path)
        try:
            authenticated = await _explained(service.sign_in(self._oidc, completed.identity))
        except service.NotConnected:
            return self._ask_to_connect(call, completed.identity, is_signed_in=session is not None)
        return await self._begin_session(call, authenticated, next_path, completed.timezone)

    async def end_sessions(self, call: PageCall) -> Response:
        """Handle a back-channel logout, which the provider sends."""
        headers = {"Cache-Control": "no-store"}
        try:
            await service.end_sessions(self._oidc, call.form.text("logout_token"))
        except SignInRefused as error:
            self._log_logout("sign-in refused", f"logout token: {error.reason}")
            return JSONResponse({"error": "invalid_request", "error_description": error.reason}, 400, headers)
        except ProviderUnavailable as error:
            self._log_logout("single sign-on provider unavailable", error.reason)
            return JSONResponse({"error": "temporarily_unavailable"}, 503, headers)
        return Response(status_code=200, headers=headers)

    def _log_logout(self, event: str, reason: str) -> None:
        """Log at most once a minute: anybody can send logout tokens, and a line for each would fill the disk."""
        self._failed_logouts += 1
        if (now := self._deps.clock().timestamp()) - self._logged_at >= _LOG_INTERVAL:
            log.warning(event, reason=reason, count=self._failed_logouts)
            self._failed_logouts, self._logged_at = 0, now

    # ── an identity that waits for its person ───────────────────────────────────────────────────────────────────────

    async def show_connection(self, call: PageCall) -> Response:
        identity = self._kept(call.request)
        if identity is None:
            return redirect("/account/security")
        context = await self._proof(call)
        provider = urlsplit(identity.issuer).hostname
        return call.render("account/connect.html", identity=identity, provider=provider, **context)

    async def connect(self, call: PageCall) -> Response:
        identity = self._kept(call.request)
        if identity is None:
            return redirect("/account/security")
        await self._require_proven(call)
        await service.connect(self._oidc, call.person_session, identity)
        response = redirect("/account/security", "connected")
        self._cookie(PENDING).set(response, "", max_age=0)
        return response

    async def show_disconnection(self, call: PageCall) -> Response:
        context = await self._proof(call)
        if context["sso_email"] is None:
            return redirect("/account/security")
        return call.render("account/disconnect.html", path=_DISCONNECT, **context)

    async def disconnect(self, call: PageCall) -> Response:
        await self._require_proven(call)
        await service.disconnect(self._oidc, call.person_session)
        async with self._deps.db.read() as tx:
            if await sessions.is_active(tx, call.person_session):
                return redirect("/account/security", "disconnected")
        return redirect("/login", "without-sso")

    def _ask_to_connect(self, call: PageCall, identity: Identity, *, is_signed_in: bool) -> Response:
        if is_signed_in:
            return self._keep(redirect(CONNECT_PATH), identity)
        context: dict[str, Any] = {"email": identity.email, "has_passwords": self._deps.has_passwords}
        return self._keep(call.render("account/connect_first.html", **context), identity)

    def _keep(self, response: Response, identity: Identity) -> Response:
        text = pending.seal(self._oidc.key, identity, self._oidc.role_by_group, self._deps.clock())
        self._cookie(PENDING).set(response, text, max_age=pending.LIFETIME)
        return response

    def _kept(self, request: Request) -> Identity | None:
        text = self._cookie(PENDING).read(request)
        return pending.unseal(self._oidc.key, text, self._deps.clock())

    # ── cookies ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _oidc(self) -> OidcDeps:
        return cast("OidcDeps", self._deps.oidc)

    def _browser(self, request: Request) -> bytes | None:
        """Return the secret of the browser; None if it has not started here."""
        try:
            secret = base64.urlsafe_b64decode(self._cookie("oidc").read(request))
        except ValueError:
            return None
        return secret if len(secret) == _BROWSER_SECRET else None


async def _explained(result: Awaitable[T]) -> T:
    """Log what went wrong between us and the provider, and show a page that says what to do."""
    try:
        return await result
    except ProviderUnavailable as error:
        log.warning("single sign-on provider unavailable", reason=error.reason)
        raise SsoUnavailable(error.message, title="Single sign-on is not available", next_step=_BACK) from None
    except SignInRefused as error:
        log.warning("sign-in refused", reason=error.reason)
        raise SsoRefused(error.message, title="Sign-in failed", next_step=_BACK) from None
