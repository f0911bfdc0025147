"""Pages of the links in emails, and of the sign-in links that operators create.

The page of a link shows a button and has no effect by itself: mail scanners open every link.
"""

from dataclasses import replace
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import Person
from waypost.accounts.oidc import identities
from waypost.accounts.people import profile
from waypost.accounts.person_pages import PersonPages, valid_link
from waypost.accounts.setup.first_start import PLACEHOLDER
from waypost.accounts.setup.pages import PATH as SETUP_PATH
from waypost.accounts.sign_in import credentials
from waypost.accounts.sign_in import service as sign_in
from waypost.kit.errors import Invalid, RateLimited
from waypost.web.dashboard import NotSignedIn, PageCall, redirect, shows
from waypost.web.dashboard.notices import with_notice


class EmailLinkPages(PersonPages):
    def endpoints(self) -> list[Route]:
        sign_in_link = shows("account/sign_in_link.html", self._find_sign_in_link)
        return [
            *self._password_routes(
                self.get("/forgot", self.show_forgot, "public"),
                self.form("/forgot", self.forgot, "public", self.show_forgot),
                self.get("/reset/{token}", self.show_reset, "public"),
                self.form("/reset/{token}", self.reset, "public", self.show_reset),
            ),
            self.get("/confirm/{token}", self.show_confirm, "public"),
            self.post("/confirm/{token}", self.confirm, "public"),
            self.get("/enter/{token}", sign_in_link, "public"),
            self.form("/enter/{token}", self.sign_in_by_link, "public"),
        ]

    async def show_forgot(self, call: PageCall) -> Response:
        return self._render_forgot(call, is_sent=False)

    async def forgot(self, call: PageCall) -> Response:
        email = call.form.text("email")
        person_with_hash = await sign_in.find_with_password(self._deps, email)
        await self._deps.sign_in_limiter.check(call.request, email, person_with_hash)
        await sign_in.request_password_reset(self._deps, email)
        return self._render_forgot(call, is_sent=True)

    async def show_reset(self, call: PageCall) -> Response:
        person = await valid_link(call, sign_in.get_person_of_link(self._deps, "reset", call.token))
        context: dict[str, Any] = {"email": person.email, "passkeys": (), "keys": (), "identity": None}
        context["has_second_factor"] = await sign_in.has_second_factor(self._deps, person)
        if person.confirmed_at:
            context["passkeys"], context["keys"] = await sign_in.list_other_credentials(self._deps, person)
            async with self._deps.db.read() as tx:
                context["identity"] = await identities.find(tx, person.id)
        return call.render("account/reset.html", **context)

    async def reset(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check(call.request)
        reset = sign_in.reset_password(
            self._deps,
            call.token,
            call.form.text("password"),
            remove_credentials=call.form.is_checked("remove_credentials"),
            code=call.form.text("code"),
            ip=self._auth.storable_address(call.request),
        )
        return await self._start_session(call, await valid_link(call, reset), "/")

    async def show_confirm(self, call: PageCall) -> Response:
        person, email = await valid_link(call, profile.get_confirmation(self._deps, call.token))
        is_signed_in = await self._is_signed_in(call, person)
        if not is_signed_in and not self._deps.has_passwords:
            raise NotSignedIn
        return call.render(
            "account/confirm.html",
            email=email,
            is_first=email == person.email,
            is_signed_in=is_signed_in,
            has_password=(await credentials.find(self._deps, person)).has_password,
        )

    async def confirm(self, call: PageCall) -> Response:
        """Require the person's session or password: who reads the email may not have signed up."""
        person, _ = await valid_link(call, profile.get_confirmation(self._deps, call.token))
        authenticated = None
        try:
            if not await self._is_signed_in(call, person):
                if not self._deps.has_passwords:
                    raise NotSignedIn
                call = await call.read()
                person_with_hash = await sign_in.find_with_password(self._deps, person.email)
                client = await self._deps.sign_in_limiter.check(call.request, person.email, person_with_hash)
                password = call.form.text("password")
                authenticated = await sign_in.verify_password(self._deps, person, password, client)
            ip = self._auth.storable_address(call.request)
            confirmed = await valid_link(call, profile.confirm(self._deps, call.token, ip=ip))
        except (Invalid, RateLimited) as error:
            return await self.show_confirm(call.refused(error))
        path = with_notice("/account", "confirmed")
        if authenticated is None:
            return redirect(path)
        authenticated = replace(authenticated, person=confirmed)
        return await self._start_session(call, authenticated, path)

    async def _find_sign_in_link(self, call: PageCall) -> dict[str, Any]:
        person = await valid_link(call, sign_in.get_person_of_link(self._deps, "sign_in", call.token))
        return {"email": person.email}

    async def sign_in_by_link(self, call: PageCall) -> Response:
        authenticated = await valid_link(call, sign_in.sign_in_by_link(self._deps, call.token))
        path = SETUP_PATH if authenticated.person.email == PLACEHOLDER else "/"
        return await self._start_session(call, authenticated, path)

    async def _is_signed_in(self, call: PageCall, person: Person) -> bool:
        session = await self._auth.peek_session(call.request)
        return session is not None and session.person.id == person.id

    def _render_forgot(self, call: PageCall, *, is_sent: bool) -> Response:
        context: dict[str, Any] = {"is_sent": is_sent, "sends_mail": self._deps.sends_mail}
        return call.render("account/forgot.html", call.form, **context)
