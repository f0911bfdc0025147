"""The account's pages: profile, sign-in, sessions and data."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost import audit
from waypost.accounts.data import deletion as account_deletion
from waypost.accounts.data import export
from waypost.accounts.deps import Deps
from waypost.accounts.people import profile
from waypost.accounts.person_pages import PersonPages
from waypost.accounts.second_factor import service as second_factor
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in import credentials, passkeys
from waypost.accounts.sign_in import service as sign_in
from waypost.kit.errors import Invalid, NotFound, RateLimited
from waypost.web.dashboard import ContextFunction, PageCall, PageFunction, SessionAuth, Views, redirect, shows

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


class ProfilePages(PersonPages):
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        super().__init__(deps, auth, views)
        self._downloads = export.Downloads()

    def endpoints(self) -> list[Route]:
        profile_page = self._page("profile", self._find_profile)
        security, data = self._page("security", self._find_security), self._page("data", self._find_data)
        removal, deletion = self._page("passkey", self._find_passkey), self._page("delete", self._find_deleted)
        return [
            self.get("/account", profile_page, "person"),
            self.form("/account/name", self.change_name, "person", profile_page),
            self.form("/account/email", self.change_email, "person", profile_page),
            self.form("/account/preferences", self.change_preferences, "person", profile_page),
            self.form("/account/timezone", self.keep_timezone, "person"),
            self.post("/account/confirm", self.resend_confirmation, "person"),
            self.get("/account/security", security, "person"),
            *self._password_routes(
                self.form("/account/password", self.change_password, "person", security),
                self.form("/account/passkeys/options", self.passkey_options, "person"),
                self.form("/account/passkeys", self.add_passkey, "person", security),
            ),
            self.get("/account/passkeys/{id}/remove", removal, "person"),
            self.form("/account/passkeys/{id}/remove", self.remove_passkey, "person", removal),
            self.get("/account/sessions", shows("account/sessions.html", self._find_sessions), "person"),
            self.post("/account/sessions/end-others", self.end_other_sessions, "person"),
            self.post("/account/sessions/{id}/end", self.end_session, "person"),
            self.get("/account/data", data, "account.export"),
            self.form("/account/data/export", self.export, "account.export", data),
            self.get("/account/delete", deletion, "account.delete"),
            self.form("/account/delete", self.delete, "account.delete", deletion),
        ]

    def _page(self, name: str, find: ContextFunction | None = None) -> PageFunction:
        """Return a page with forms that ask for reauthentication."""

        async def page(call: PageCall) -> Response:
            context = dict(await find(call)) if find else {}
            context |= await self._reauthentication(call)
            context["proof"] = context | await self._what_proof_changes(call)
            return call.render(f"account/{name}.html", **context)

        return page

    # ── profile ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _find_profile(self, call: PageCall) -> dict[str, Any]:
        choices = call.person.preferences.choices(self._deps.clock())
        return {"person": call.person, "sends_mail": self._deps.sends_mail, "choices": choices}

    async def change_name(self, call: PageCall) -> Response:
        await profile.change_name(self._deps, call.person_session, call.form.text("name"))
        return redirect("/account", "name")

    async def change_preferences(self, call: PageCall) -> Response:
        chosen = {name: call.form.text(name) for name in ("timezone", "date_format", "number_format")}
        await profile.change_preferences(self._deps, call.person_session, chosen)
        return redirect("/account", "preferences")

    async def keep_timezone(self, call: PageCall) -> Response:
        """What the script of the first page sends."""
        await sign_in.keep_timezone(self._deps, call.person, call.form.text("timezone"))
        return Response(status_code=204)

    async def change_email(self, call: PageCall) -> Response:
        await self._require_proven(call)
        is_changed = await profile.change_email(self._deps, call.person_session, call.form.text("email"))
        return redirect("/account", "email" if is_changed else "mail")

    async def resend_confirmation(self, call: PageCall) -> Response:
        await self._deps.sign_in_limiter.check_session(call.person_session)
        await profile.resend_confirmation(self._deps, call.person)
        return redirect("/account", "confirm" if self._deps.sends_mail else "logged")

    # ── password and passkeys ───────────────────────────────────────────────────────────────────────────────────────

    async def _find_security(self, call: PageCall) -> dict[str, Any]:
        own_passkeys, keys = await sign_in.list_other_credentials(self._deps, call.person)
        return {
            "passkeys": own_passkeys,
            "keys": keys,
            "needs_confirming": self._deps.sends_mail and call.person.confirmed_at is None,
            "has_sso": self._deps.oidc is not None,
            "second_factor": await second_factor.find(self._deps, call.person),
        }

    async def change_password(self, call: PageCall) -> Response:
        session, current, new = call.person_session, call.form.text("current_password"), call.form.text("password")
        revoke_keys = call.form.is_checked("revoke_keys")
        await self._deps.sign_in_limiter.check_session(session)
        authenticated = await sign_in.change_password(self._deps, session, current, new, revoke_keys=revoke_keys)
        response = redirect("/account/security", "keys" if revoke_keys else "password")
        await self._auth.sign_in(call.request, authenticated, response, is_recorded=True)
        await self._deps.sign_in_limiter.remember(response, authenticated)
        return response

    async def passkey_options(self, call: PageCall) -> Response:
        """Require reauthentication: a passkey stays valid after the session that registered it.

        The first credential needs none: nothing could give it.
        """
        try:
            if not (await credentials.find(self._deps, call.person)).is_empty:
                await self._require_proven(call)
            options = await passkeys.registration_options(self._deps, call.person)
        except (Invalid, RateLimited) as error:
            message = next(iter(error.errors.values()))[0] if isinstance(error, Invalid) else error.message
            return JSONResponse({"error": message}, 422)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def add_passkey(self, call: PageCall) -> Response:
        name, credential, session = call.form.text("passkey_name"), call.form.text("credential"), call.person_session
        await self._refuse_unproven(call)
        await passkeys.register(self._deps, call.person, name, credential, ip=session.request_ip)
        return redirect("/account/security", "passkey")

    async def _find_passkey(self, call: PageCall) -> dict[str, Any]:
        return {"passkey": await passkeys.get(self._deps, call.person, call.id)}

    async def remove_passkey(self, call: PageCall) -> Response:
        passkey = await passkeys.get(self._deps, call.person, call.id)
        await self._require_proven(call)
        await passkeys.delete_passkey(self._deps, call.person, passkey.id, ip=call.person_session.request_ip)
        async with self._deps.db.read() as tx:
            if await sessions.is_active(tx, call.person_session):
                return redirect("/account/security", "passkey-removed")
        return redirect("/login", "without-passkey")

    # ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _find_sessions(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            active = await sessions.list_active(tx, call.person, now=self._deps.clock())
        listed = [(other, device_name(other.user_agent)) for other in active]
        return {"sessions": listed, "current": call.person_session.id}

    async def end_session(self, call: PageCall) -> Response:
        async with self._deps.db.write() as tx:
            if not await sessions.end(tx, call.person.id, call.id):
                raise NotFound
        return redirect("/account/sessions", "ended")

    async def end_other_sessions(self, call: PageCall) -> Response:
        async with self._deps.db.write() as tx:
            await sessions.end_others(tx, call.person_session)
        return redirect("/account/sessions", "others")

    # ── data ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def export(self, call: PageCall) -> Response:
        await self._require_recent(call)
        self._downloads.refuse_second(call.session.account)
        await self._auth.limit_expensive(call.session, "export")
        async with self._deps.db.write() as tx:
            await audit.record(tx, call.session.actor, "account.exported", self._deps.clock())
        if call.form.text("file") == "clicks":
            return self._downloads.start_clicks(self._deps.context, call.session.account)
        return self._downloads.start(self._deps.context, self._deps.resources, call.session.account)

    async def _find_data(self, call: PageCall) -> Mapping[str, Any]:
        return {"amount": await export.count(self._deps.context, call.session.account)}

    async def _find_deleted(self, call: PageCall) -> Mapping[str, Any]:
        return await account_deletion.count_deleted_data(self._deps, call.session.account)

    async def delete(self, call: PageCall) -> Response:
        await self._require_recent(call)
        await account_deletion.start(self._deps, call.session)
        response = redirect("/login", "deleted")
        await self._auth.sign_out(call.request, response)
        return response


def device_name(user_agent: str) -> str:
    browser = next((name for token, name in _BROWSERS if token in user_agent), "Another browser")
    system = next((name for token, name in _SYSTEMS if token in user_agent), None)
    return f"{browser} on {system}" if system else browser
