"""Pages of the second factor: set-up and removal, its code at sign-in, and what an account requires of its members."""

import asyncio
from base64 import b64encode
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import AuthenticationResult
from waypost.accounts.deps import Deps
from waypost.accounts.people import store as people
from waypost.accounts.second_factor import required as required_factor
from waypost.accounts.second_factor import service, totp, verification
from waypost.accounts.sessions.start import CODE_COOKIE, CODE_PATH, cookie_name, start_session
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.accounts.sign_in.reauthentication import (
    proof_context,
    reauthentication_context,
    refuse_unproven,
    require_proven,
    require_recent,
)
from waypost.kit.errors import Invalid, NotFound, RateLimited
from waypost.web.dashboard import Form, NotSignedIn, PageCall, Pages, redirect

PATH = "/account/two-factor"
_SECURITY = "/account/security"
_RULES = "/account/sign-in-rules"


class SecondFactorPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            *password_routes(
                self._deps,
                self.get(CODE_PATH, self.show_code, "public"),
                self.form(CODE_PATH, self.sign_in, "public", self.show_code),
                self.get(PATH, self.show_start, "person"),
                self.form(PATH, self.start, "person", self.show_start),
                self.form(f"{PATH}/confirm", self.confirm, "person", self.show_start),
                self.get(f"{PATH}/recovery-codes", self.show_replacement, "person"),
                self.form(f"{PATH}/recovery-codes", self.replace, "person", self.show_replacement),
            ),
            self.get(f"{PATH}/remove", self.show_removal, "person"),
            self.form(f"{PATH}/remove", self.remove, "person", self.show_removal),
            self.get(_RULES, self.show_rules, "security.write"),
            self.form(_RULES, self.change_rules, "security.write", self.show_rules),
            self.get("/account/required", self.show_missing, "person"),
        ]

    # ── the code at sign-in, after the password ─────────────────────────────────────────────────────────────────────

    async def show_code(self, call: PageCall) -> Response:
        try:
            person, _ = await verification.get_waiting(self._deps, self._token(call.request))
        except NotFound:
            return redirect("/login", "expired")
        path = safe_next_path(call.form.text("next") or call.query("next"))
        is_recovery = call.form.is_checked("recovery") or "recovery" in call.request.query_params
        return call.render("account/code.html", email=person.email, next=path, is_recovery=is_recovery)

    async def sign_in(self, call: PageCall) -> Response:
        token = self._token(call.request)
        try:
            person, password = await verification.get_waiting(self._deps, token)
            client = await self._deps.sign_in_limiter.check(call.request, person.email, (person, password))
            ip = self._auth.storable_address(call.request)
            authenticated = await verification.finish(self._deps, token, person, call.form.text("code"), client, ip=ip)
        except NotFound:
            return redirect("/login", "expired")
        path = safe_next_path(call.form.text("next"))
        response = await start_session(self._deps, self._auth, call.request, authenticated, path)
        name = cookie_name(self._deps, CODE_COOKIE)
        response.delete_cookie(name, secure=name.startswith("__Host-"), httponly=True, samesite="lax")
        return response

    def _token(self, request: Request) -> str:
        return request.cookies.get(cookie_name(self._deps, CODE_COOKIE), "")

    # ── set-up and removal ──────────────────────────────────────────────────────────────────────────────────────────

    async def show_start(self, call: PageCall) -> Response:
        if call.error is None and await service.find(self._deps, call.person):
            return redirect(_SECURITY)
        return await self._render(call, "two_factor_start")

    async def start(self, call: PageCall) -> Response:
        """Show the secret. The response is a page instead of a redirect, because the secret is not stored yet."""
        session = await require_proven(self._deps, call.person_session, call.form)
        return await self._render_setup(call, await service.begin(self._deps, session))

    async def confirm(self, call: PageCall) -> Response:
        setup = service.reopen(self._deps, call.person_session, call.form.text("setup"))
        try:
            await self._deps.sign_in_limiter.check_session(call.person_session)
            await refuse_unproven(self._deps, call.person_session)
            codes = await service.confirm(self._deps, call.person_session, setup, call.form.text("code"))
        except (Invalid, RateLimited) as error:
            return await self._render_setup(call.refused(error), setup)
        except NotFound:  # the session has ended
            raise NotSignedIn from None
        response = call.render("account/recovery_codes.html", codes=codes, is_new=True)
        async with self._deps.db.read() as tx:
            password = await people.find_password_hash(tx, call.person.id)
        await self._deps.sign_in_limiter.remember(response, AuthenticationResult(call.person, password=password))
        return response

    async def show_replacement(self, call: PageCall) -> Response:
        await self._require_factor(call)
        return await self._render(call, "recovery_codes_new")

    async def replace(self, call: PageCall) -> Response:
        session = await require_recent(self._deps, call.person_session, call.form)
        codes = await service.replace_recovery_codes(self._deps, session)
        return call.render("account/recovery_codes.html", codes=codes, is_new=False)

    async def show_removal(self, call: PageCall) -> Response:
        await self._require_factor(call)
        return await self._render(call, "two_factor_remove")

    async def remove(self, call: PageCall) -> Response:
        session = await require_recent(self._deps, call.person_session, call.form)
        await service.remove(self._deps, session)
        return redirect(_SECURITY, "two-factor")

    async def _require_factor(self, call: PageCall) -> None:
        """Raise NotFound without a second factor."""
        if await service.find(self._deps, call.person) is None:
            raise NotFound

    async def _render(self, call: PageCall, name: str) -> Response:
        return call.render(f"account/{name}.html", **await proof_context(self._deps, call.person_session))

    async def _render_setup(self, call: PageCall, setup: service.Setup) -> Response:
        image = await asyncio.to_thread(_qr_code, setup.uri)
        context = {"image": image, "secret": totp.in_groups(setup.secret), "setup": setup.sealed}
        return call.render("account/two_factor_setup.html", **context)

    # ── what an account requires of the sign-ins of its members ─────────────────────────────────────────────────────

    async def show_rules(self, call: PageCall) -> Response:
        form = Form({"required_factor": await required_factor.find(self._deps, call.session)})
        context = await reauthentication_context(self._deps, call.session)
        return call.render("account/sign_in_rules.html", form, **context)

    async def change_rules(self, call: PageCall) -> Response:
        session = await require_recent(self._deps, call.session, call.form)
        await required_factor.change(self._deps, session, call.form.text("required_factor"))
        return redirect(_RULES, "sign-in-rules")

    async def show_missing(self, call: PageCall) -> Response:
        """For members who lack what the account requires."""
        if call.person_session.missing is None:
            return redirect("/")
        context: dict[str, Any] = await reauthentication_context(self._deps, call.person_session)
        context |= {"missing": call.person_session.missing, "sends_mail": self._deps.sends_mail}
        return call.render("account/required.html", **context)


def _qr_code(text: str) -> str:
    """Return the image as a data URL. Takes milliseconds."""
    from waypost.resources.qrcodes.drawing import svg  # noqa: PLC0415  # only for people who set this up
    from waypost.resources.qrcodes.style import CodeStyle  # noqa: PLC0415

    return f"data:image/svg+xml;base64,{b64encode(svg(text, CodeStyle(size=240))).decode()}"
