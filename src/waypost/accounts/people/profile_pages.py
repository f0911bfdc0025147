"""The account's pages: profile, sign-in, sessions and data."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost import audit
from waypost.accounts.data import deletion as account_deletion
from waypost.accounts.data.export import Downloads
from waypost.accounts.deps import Deps
from waypost.accounts.people import profile
from waypost.accounts.second_factor import service as second_factor
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.accounts.sign_in import credentials, passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.accounts.sign_in.reauthentication import (
    reauthentication_context,
    refuse_unproven,
    require_proven,
    require_recent,
    what_proof_changes,
)
from waypost.kit.errors import Invalid, NotFound, RateLimited, WaypostError
from waypost.web.dashboard import BLANK, Form, Pages, SessionAuth, Views, get, post, redirect

_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
"""The first match counts: user agents also name the browsers that they are compatible with."""


class ProfilePages(Pages[Deps]):
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        super().__init__(deps, auth, views)
        self._downloads = Downloads()

    def endpoints(self) -> list[Route]:
        return [
            get("/account", self.show_profile, "person"),
            self.form("/account/name", self.change_name, "person", self.show_profile),
            self.form("/account/email", self.change_email, "person", self.show_profile),
            post("/account/confirm", self.resend_confirmation, "person"),
            get("/account/security", self.show_security, "person"),
            *password_routes(
                self._deps.auth,
                self.form("/account/password", self.change_password, "person", self.show_security),
                post("/account/passkeys/options", self.passkey_options, "person"),
                self.form("/account/passkeys", self.add_passkey, "person", self.show_security),
            ),
            get("/account/passkeys/{id}/remove", self.show_passkey_removal, "person"),
            self.form("/account/passkeys/{id}/remove", self.remove_passkey, "person", self.show_passkey_removal),
            get("/account/sessions", self.show_sessions, "person"),
            post("/account/sessions/end-others", self.end_other_sessions, "person"),
            post("/account/sessions/{id}/end", self.end_session, "person"),
            get("/account/data", self.show_data, "account.export"),
            post("/account/data/export", self.export, "account.export"),
            get("/account/delete", self.show_deletion, "account.delete"),
            self.form("/account/delete", self.delete, "account.delete", self.show_deletion),
        ]

    # ── profile ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_profile(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_person(request)
        context = {"person": session.person, "sends_mail": self._deps.auth.sends_mail}
        return await self._render(request, "account/profile.html", form, error, **context)

    async def change_name(self, _request: Request, session: PersonSession, form: Form) -> Response:
        await profile.change_name(self._deps.auth, session, form.text("name"))
        return redirect("/account", "name")

    async def change_email(self, _request: Request, session: PersonSession, form: Form) -> Response:
        await require_proven(self._deps, session, form)
        is_changed = await profile.change_email(self._deps.auth, session, form.text("email"))
        return redirect("/account", "email" if is_changed else "mail")

    async def resend_confirmation(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        await self._deps.sign_in_limiter.check_session(session)
        await profile.resend_confirmation(self._deps.auth, session.person)
        return redirect("/account", "confirm" if self._deps.auth.sends_mail else "logged")

    # ── password and passkeys ───────────────────────────────────────────────────────────────────────────────────────

    async def show_security(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_person(request)
        needs_confirming = self._deps.auth.sends_mail and session.person.confirmed_at is None
        own_passkeys, keys = await sign_in.list_other_credentials(self._deps.auth, session.person)
        context: dict[str, Any] = {"passkeys": own_passkeys, "keys": keys, "needs_confirming": needs_confirming}
        context["has_sso"] = self._deps.oidc is not None
        context["second_factor"] = await second_factor.find(self._deps.auth, session.person)
        return await self._render(request, "account/security.html", form, error, **context)

    async def change_password(self, request: Request, session: PersonSession, form: Form) -> Response:
        current, new = form.text("current_password"), form.text("password")
        revoke_keys = form.is_checked("revoke_keys")
        await self._deps.sign_in_limiter.check_session(session)
        authenticated = await sign_in.change_password(self._deps.auth, session, current, new, revoke_keys=revoke_keys)
        response = redirect("/account/security", "keys" if revoke_keys else "password")
        await self._auth.sign_in(request, authenticated, response, is_recorded=True)
        await self._deps.sign_in_limiter.remember(response, authenticated)
        return response

    async def passkey_options(self, request: Request) -> Response:
        """Require reauthentication: a passkey stays valid after the session that registered it.

        The first credential needs none: nothing could give it.
        """
        session, form = await self._read_as_person(request)
        try:
            if not (await credentials.find(self._deps.auth, session.person)).is_empty:
                await require_proven(self._deps, session, form)
            options = await passkeys.registration_options(self._deps.auth, session.person)
        except (Invalid, RateLimited) as error:
            message = next(iter(error.errors.values()))[0] if isinstance(error, Invalid) else error.message
            return JSONResponse({"error": message}, 422)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def add_passkey(self, _request: Request, session: PersonSession, form: Form) -> Response:
        name, credential = form.text("passkey_name"), form.text("credential")
        await refuse_unproven(self._deps, session)
        await passkeys.register(self._deps.auth, session.person, name, credential, ip=session.request_ip)
        return redirect("/account/security", "passkey")

    async def show_passkey_removal(
        self, request: Request, form: Form = BLANK, error: WaypostError | None = None
    ) -> Response:
        session = await self._auth.require_person(request)
        passkey = await passkeys.get(self._deps.auth, session.person, self._path_id(request))
        return await self._render(request, "account/passkey.html", form, error, passkey=passkey)

    async def remove_passkey(self, request: Request, session: PersonSession, form: Form) -> Response:
        passkey = await passkeys.get(self._deps.auth, session.person, self._path_id(request))
        await require_proven(self._deps, session, form)
        await passkeys.delete_passkey(self._deps.auth, session.person, passkey.id, ip=session.request_ip)
        async with self._deps.auth.db.read() as tx:
            if await sessions.is_active(tx, session):
                return redirect("/account/security", "passkey-removed")
        return redirect("/login", "without-passkey")

    # ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_sessions(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.read() as tx:
            active = await sessions.list_active(tx, session.person, now=self._deps.auth.clock())
        listed = [(other, device_name(other.user_agent)) for other in active]
        return self._views.render_page(request, "account/sessions.html", sessions=listed, current=session.id)

    async def end_session(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.write() as tx:
            if not await sessions.end(tx, session.person.id, self._path_id(request)):
                raise NotFound
        return redirect("/account/sessions", "ended")

    async def end_other_sessions(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.write() as tx:
            await sessions.end_others(tx, session)
        return redirect("/account/sessions", "others")

    # ── data ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_data(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        await self._auth.require_session(request)
        return await self._render(request, "account/data.html", form, error)

    async def export(self, request: Request) -> Response:
        session, form = await self._read(request)
        try:
            await require_recent(self._deps, session, form)
            self._downloads.refuse_second(session.account)
        except (Invalid, RateLimited) as error:
            return await self.show_data(request, form, error)
        await self._auth.limit_expensive(session, "export")
        async with self._deps.auth.db.write() as tx:
            await audit.record(tx, session.actor, "account.exported", self._deps.auth.clock())
        return self._downloads.start(self._deps.context, self._deps.resources, session.account)

    async def show_deletion(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        context = await account_deletion.count_deleted_data(self._deps, session.account)
        return await self._render(request, "account/delete.html", form, error, **context)

    async def delete(self, request: Request, session: Session, form: Form) -> Response:
        await require_recent(self._deps, session, form)
        await account_deletion.start(self._deps, session)
        response = redirect("/login", "deleted")
        await self._auth.sign_out(request, response)
        return response

    # ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _render(
        self, request: Request, template: str, form: Form, error: WaypostError | None = None, **context: Any
    ) -> Response:
        session = await self._auth.require_person(request)
        context |= await reauthentication_context(self._deps, session)
        context["proof"] = context | await what_proof_changes(self._deps, session)
        return self._views.form(request, template, form, error, **context)


def device_name(user_agent: str) -> str:
    browser = next((name for token, name in _BROWSERS if token in user_agent), "Another browser")
    system = next((name for token, name in _SYSTEMS if token in user_agent), None)
    return f"{browser} on {system}" if system else browser
