"""The pages of those who are not signed in: signing up, in and out, and what links in mails lead to.

A link's page shows a button and does nothing by itself: what reads mail before its owner does opens every link.
"""

import re
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from waypost.auth import Account, Authenticated, passkeys, sign_in, signup
from waypost.kit.errors import Forbidden, Invalid, NotFound, RateLimited
from waypost.kit.reserved import API_SEGMENTS, RESERVED
from waypost.resources.account.deps import Deps
from waypost.web.dashboard import Form, SessionAuth, Views, read_form

T = TypeVar("T")

_OWN_PATH = re.compile(r"/([^/\\?#\x00-\x20\x7f]*)([/?#][^\\\x00-\x20\x7f]*)?")
_BACK = re.compile(r"/(\.|%2e){1,2}(?=[/?#]|$)", re.IGNORECASE)
_PAGES = {"", *RESERVED} - API_SEGMENTS - {"login", "logout"}
_FORM_LIMIT = 64 << 10  # anybody may send these
_DONE = {
    "passkey": "The passkey was removed, and the sessions that it began were ended, this one too. Sign in again.",
    "deleted": "Your account is deleted. Its links have ended, and the rest is being removed now.",
}
GONE = "This link does not work any more: each works once, and for a while. Ask for another one."


def way_on(text: str) -> str:
    """Where somebody wanted to go, if that is a page of ours; else the overview.

    A short link is none: it leads wherever its owner likes. Nor is what gets to one by a step back.
    """
    found = _OWN_PATH.fullmatch(text)
    is_ours = found and found[1] in _PAGES and not text.startswith("//") and not _BACK.search(text)
    return text if is_ours else "/"


class AuthPages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    def routes(self) -> list[Route]:
        return [
            Route("/login", self.show_login, methods=["GET"]),
            Route("/login", self.login, methods=["POST"]),
            Route("/login/passkey/options", self.passkey_options, methods=["POST"]),
            Route("/login/passkey", self.login_by_passkey, methods=["POST"]),
            Route("/logout", self.logout, methods=["POST"]),
            Route("/signup", self.show_signup, methods=["GET"]),
            Route("/signup", self.signup, methods=["POST"]),
            Route("/invite/{token}", self.show_signup, methods=["GET"]),
            Route("/invite/{token}", self.signup, methods=["POST"]),
            Route("/forgot", self.show_forgot, methods=["GET"]),
            Route("/forgot", self.forgot, methods=["POST"]),
            Route("/reset/{token}", self.show_reset, methods=["GET"]),
            Route("/reset/{token}", self.reset, methods=["POST"]),
            Route("/confirm/{token}", self.show_confirm, methods=["GET"]),
            Route("/confirm/{token}", self.confirm, methods=["POST"]),
            Route("/enter/{token}", self.show_enter, methods=["GET"]),
            Route("/enter/{token}", self.enter, methods=["POST"]),
        ]

    # ── signing in and out ──────────────────────────────────────────────────────────────────────────────────────────

    async def show_login(self, request: Request) -> Response:
        way = way_on(request.query_params.get("next", ""))
        if await self._auth.read_session(request):
            return RedirectResponse(way, 303)
        return self._login(request, Form({"next": way}))

    async def login(self, request: Request) -> Response:
        form = await self._form(request)
        try:
            owner = await sign_in.password_of(self._deps.auth, form.text("email"))
            visitor = await self._deps.sign_in_limiter.take(request, form.text("email"), owner)
            proven = await sign_in.sign_in(self._deps.auth, form.text("email"), form.text("password"), visitor)
        except (Invalid, RateLimited) as error:
            return self._login(request, form, error)
        return await self._in(request, proven, way_on(form.text("next")))

    async def passkey_options(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        await self._deps.sign_in_limiter.take(request)
        options = await passkeys.options_to_use(self._deps.auth)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def login_by_passkey(self, request: Request) -> Response:
        form = await self._form(request)
        try:
            await self._deps.sign_in_limiter.take(request)
            proven = await passkeys.sign_in(self._deps.auth, form.text("credential"))
        except (Invalid, RateLimited) as error:
            return self._login(request, form, error)
        return await self._in(request, proven, way_on(form.text("next")))

    async def logout(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        answer = RedirectResponse("/login", 303)
        await self._auth.sign_out(request, answer)
        return answer

    # ── signing up ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_signup(self, request: Request) -> Response:
        return await self._signup(request, Form())

    async def signup(self, request: Request) -> Response:
        form = await self._form(request)
        try:
            visitor = await self._deps.sign_in_limiter.take(request, form.text("email"))
            proven = await signup.sign_up(
                self._deps.auth,
                visitor,
                email=form.text("email"),
                name=form.text("name"),
                password=form.text("password"),
                invitation=request.path_params.get("token"),
            )
        except (Invalid, RateLimited) as error:
            return await self._signup(request, form, error)
        if proven is None:
            return self._views.page(request, "account/signed_up.html", email=form.text("email").strip())
        return await self._in(request, proven, "/")

    # ── what links in mails lead to ─────────────────────────────────────────────────────────────────────────────────

    async def show_forgot(self, request: Request) -> Response:
        return self._views.page(request, "account/forgot.html", form=Form(), is_sent=False)

    async def forgot(self, request: Request) -> Response:
        form = await self._form(request)
        try:
            owner = await sign_in.password_of(self._deps.auth, form.text("email"))
            await self._deps.sign_in_limiter.take(request, form.text("email"), owner)
        except RateLimited as error:
            return faulty(self._views, request, "account/forgot.html", form, error, is_sent=False)
        await sign_in.request_password_reset(self._deps.auth, form.text("email"))
        return self._views.page(request, "account/forgot.html", form=form, is_sent=True)

    async def show_reset(self, request: Request) -> Response:
        return await self._reset(request, Form())

    async def reset(self, request: Request) -> Response:
        form = await self._form(request)
        password, takes_all = form.text("password"), form.is_checked("takes_all")
        try:
            await self._deps.sign_in_limiter.take(request)
            proven = await _still(sign_in.reset(self._deps.auth, _token(request), password, takes_all=takes_all))
        except (Invalid, RateLimited) as error:
            return await self._reset(request, form, error)
        return await self._in(request, proven, "/")

    async def show_confirm(self, request: Request) -> Response:
        return await self._confirm(request, Form())

    async def confirm(self, request: Request) -> Response:
        """By whoever has the account, too: that somebody reads its mail does not say that they made it."""
        self._auth.require_same_origin(request)
        account, _ = await _still(signup.can_confirm(self._deps.auth, _token(request)))
        form, proven = Form(), None
        try:
            if not await self._is_in(request, account):
                form = await self._form(request)
                owner = await sign_in.password_of(self._deps.auth, account.email)
                visitor = await self._deps.sign_in_limiter.take(request, account.email, owner)
                password = form.text("password")
                proven = await sign_in.prove_owner(self._deps.auth, account, password, visitor)
            confirmed = await _still(signup.confirm(self._deps.auth, _token(request)))
        except (Invalid, RateLimited) as error:
            return await self._confirm(request, form, error)
        if proven is None:
            return RedirectResponse("/account?done=confirmed", 303)
        return await self._in(request, replace(proven, account=confirmed), "/account?done=confirmed")

    async def show_enter(self, request: Request) -> Response:
        account = await _still(sign_in.can_enter(self._deps.auth, _token(request)))
        return self._views.page(request, "account/enter.html", email=account.email)

    async def enter(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        return await self._in(request, await _still(sign_in.enter(self._deps.auth, _token(request))), "/")

    # ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _form(self, request: Request) -> Form:
        self._auth.require_same_origin(request)
        return await read_form(request, _FORM_LIMIT)

    async def _in(self, request: Request, proven: Authenticated, way: str) -> Response:
        answer = RedirectResponse(way, 303)
        await self._auth.sign_in(request, proven, answer)
        self._deps.sign_in_limiter.remember(answer, proven)
        return answer

    async def _is_in(self, request: Request, account: Account) -> bool:
        session = await self._auth.read_session(request)
        return session is not None and session.account.id == account.id

    def _login(self, request: Request, form: Form, error: Invalid | RateLimited | None = None) -> Response:
        told: dict[str, Any] = {"can_sign_up": self._deps.auth.signup == "open"}
        if error is None:
            notice = _DONE.get(request.query_params.get("done", ""))
            return self._views.page(request, "account/login.html", form=form, notice=notice, **told)
        return faulty(self._views, request, "account/login.html", form, error, **told)

    async def _signup(self, request: Request, form: Form, error: Invalid | RateLimited | None = None) -> Response:
        token, policy = request.path_params.get("token"), self._deps.auth.signup
        if policy == "closed":
            raise Forbidden(signup.CLOSED)
        if token is None and policy == "invite":
            raise Forbidden(signup.INVITED_ONLY)
        email = (await _still(signup.invited(self._deps.auth, token))).email if token else None
        told: dict[str, Any] = {"email": email, "is_mailed": self._deps.auth.sends_mail and token is None}
        if error is None:
            return self._views.page(request, "account/signup.html", form=form, **told)
        return faulty(self._views, request, "account/signup.html", form, error, **told)

    async def _reset(self, request: Request, form: Form, error: Invalid | RateLimited | None = None) -> Response:
        account = await _still(sign_in.can_reset(self._deps.auth, _token(request)))
        told: dict[str, Any] = {"email": account.email, "passkeys": (), "keys": ()}
        if account.confirmed_at:
            told["passkeys"], told["keys"] = await sign_in.others_in(self._deps.auth, account)
        if error is None:
            return self._views.page(request, "account/reset.html", form=form, **told)
        return faulty(self._views, request, "account/reset.html", form, error, **told)

    async def _confirm(self, request: Request, form: Form, error: Invalid | RateLimited | None = None) -> Response:
        account, email = await _still(signup.can_confirm(self._deps.auth, _token(request)))
        told: dict[str, Any] = {"email": email, "is_first": email == account.email}
        told["is_in"] = await self._is_in(request, account)
        told["has_password"] = await sign_in.has_password(self._deps.auth, account)
        if error is None:
            return self._views.page(request, "account/confirm.html", form=form, **told)
        return faulty(self._views, request, "account/confirm.html", form, error, **told)


def faulty(
    views: Views, request: Request, template: str, form: Form, error: Invalid | RateLimited, **told: Any
) -> Response:
    if isinstance(error, Invalid):
        return views.page(request, template, status=422, form=form.with_errors(error.errors), **told)
    seconds = "1 second" if error.retry_after == 1 else f"{error.retry_after} seconds"
    wait = f"Too many attempts. Try again in {seconds}."
    answer = views.page(request, template, status=429, form=form.with_errors({"body": [wait]}), **told)
    answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def _token(request: Request) -> str:
    token: str = request.path_params["token"]
    return token


async def _still(found: Awaitable[T]) -> T:
    try:
        return await found
    except NotFound:
        raise NotFound(GONE) from None
