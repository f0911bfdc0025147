"""Pages of the second factor: set-up and removal, its code at sign-in, and what an account requires of its members."""

import asyncio
from base64 import b64encode
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import AuthenticationResult
from waypost.accounts.people import store as people
from waypost.accounts.person_pages import CODE_COOKIE, CODE_PATH, PersonPages
from waypost.accounts.second_factor import required as required_factor
from waypost.accounts.second_factor import service, totp, verification
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.kit.errors import Invalid, NotFound, RateLimited
from waypost.web.dashboard import Form, NotSignedIn, PageCall, redirect

PATH = "/account/two-factor"
_SECURITY = "/account/security"
_RULES = "/account/sign-in-rules"


class SecondFactorPages(PersonPages):
    def endpoints(self) -> list[Route]:
        return [
            *self._password_routes(
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
            person, _ = await verification.get_waiting(self._deps, self._cookie(CODE_COOKIE).read(call.request))
        except NotFound:
            return redirect("/login", "expired")
        path = safe_next_path(call.form.text("next") or call.query("next"))
        is_recovery = call.form.is_checked("recovery") or "recovery" in call.request.query_params
        return call.render("account/code.html", email=person.email, next=path, is_recovery=is_recovery)

    async def sign_in(self, call: PageCall) -> Response:
        token = self._cookie(CODE_COOKIE).read(call.request)
        try:
            person, password = await verification.get_waiting(self._deps, token)
            client = await self._deps.sign_in_limiter.check(call.request, person.email, (person, password))
            ip = self._auth.storable_address(call.request)
            authenticated = await verification.finish(self._deps, token, person, call.form.text("code"), client, ip=ip)
        except NotFound:
            return redirect("/login", "expired")
        path = safe_next_path(call.form.text("next"))
        response = await self._start_session(call, authenticated, path)
        self._cookie(CODE_COOKIE).set(response, "", max_age=0)
        return response

    # ── set-up and removal ──────────────────────────────────────────────────────────────────────────────────────────

    async def show_start(self, call: PageCall) -> Response:
        if call.error is None and await service.find(self._deps, call.person):
            return redirect(_SECURITY)
        return await self._render(call, "two_factor_start")

    async def start(self, call: PageCall) -> Response:
        """Show the secret. The response is a page instead of a redirect, because the secret is not stored yet."""
        call = await self._require_proven(call)
        return await self._render_setup(call, await service.begin(self._deps, call.person_session))

    async def confirm(self, call: PageCall) -> Response:
        setup = service.reopen(self._deps, call.person_session, call.form.text("setup"))
        try:
            await self._deps.sign_in_limiter.check_session(call.person_session)
            await self._refuse_unproven(call)
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
        call = await self._require_recent(call)
        codes = await service.replace_recovery_codes(self._deps, call.person_session)
        return call.render("account/recovery_codes.html", codes=codes, is_new=False)

    async def show_removal(self, call: PageCall) -> Response:
        await self._require_factor(call)
        return await self._render(call, "two_factor_remove")

    async def remove(self, call: PageCall) -> Response:
        call = await self._require_recent(call)
        await service.remove(self._deps, call.person_session)
        return redirect(_SECURITY, "two-factor")

    async def _require_factor(self, call: PageCall) -> None:
        """Raise NotFound without a second factor."""
        if await service.find(self._deps, call.person) is None:
            raise NotFound

    async def _render(self, call: PageCall, name: str) -> Response:
        return call.render(f"account/{name}.html", **await self._proof(call))

    async def _render_setup(self, call: PageCall, setup: service.Setup) -> Response:
        image = await asyncio.to_thread(_qr_code, setup.uri)
        context: dict[str, Any] = {"image": image, "secret": totp.in_groups(setup.secret), "setup": setup.sealed}
        return call.render("account/two_factor_setup.html", **context)

    # ── what an account requires of the sign-ins of its members ─────────────────────────────────────────────────────

    async def show_rules(self, call: PageCall) -> Response:
        form = Form({"required_factor": await required_factor.find(self._deps, call.session)})
        context = await self._reauthentication(call)
        return call.render("account/sign_in_rules.html", form, **context)

    async def change_rules(self, call: PageCall) -> Response:
        call = await self._require_recent(call)
        await required_factor.change(self._deps, call.session, call.form.text("required_factor"))
        return redirect(_RULES, "sign-in-rules")

    async def show_missing(self, call: PageCall) -> Response:
        """For members who lack what the account requires."""
        if call.person_session.missing is None:
            return redirect("/")
        context: dict[str, Any] = await self._reauthentication(call)
        context |= {"missing": call.person_session.missing, "sends_mail": self._deps.sends_mail}
        return call.render("account/required.html", **context)


def _qr_code(text: str) -> str:
    """Return the image as a data URL. Takes milliseconds."""
    from waypost.resources.qrcodes.drawing import svg  # noqa: PLC0415  # only for people who set this up
    from waypost.resources.qrcodes.style import CodeStyle  # noqa: PLC0415

    return f"data:image/svg+xml;base64,{b64encode(svg(text, CodeStyle(size=240))).decode()}"
