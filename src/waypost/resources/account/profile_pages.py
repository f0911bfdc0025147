"""The account's own pages, in tabs: who one is, how one signs in, where one is signed in, and the data."""

from functools import partial
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from waypost.auth import passkeys, sessions, sign_in, signup
from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, NotFound, RateLimited
from waypost.kit.fair_queue import FairQueue
from waypost.kit.ids import parse_id
from waypost.resources.account import account_deletion
from waypost.resources.account.auth_pages import faulty
from waypost.resources.account.deps import Deps
from waypost.resources.account.devices import called
from waypost.resources.account.export import archive
from waypost.resources.account.reauthentication import proof, require_recent
from waypost.web.dashboard import Form, SessionAuth, Views, read_form
from waypost.web.streaming import StreamedResponse

_DONE = {
    "name": "Your name was changed.",
    "email": "Your e-mail address was changed.",
    "mail": "We have sent a mail to the new address. It becomes yours here when you follow the link in it.",
    "confirm": "We have sent you a mail. Follow the link in it to confirm your address.",
    "logged": "This service sends no mail. Ask whoever runs it: the log shows where yours is, with its link.",
    "confirmed": "Your e-mail address is confirmed.",
    "password": "Your password was changed, and all other sessions were ended.",
    "keys": "Your password was changed, all other sessions were ended, and all API keys were revoked.",
    "passkey": "The passkey was added.",
    "removed": "The passkey was removed.",
    "ended": "The session was ended.",
    "others": "All other sessions were ended.",
}
_UNREAD = 60.0
"""Seconds that a download may stand still."""
_EXPORTS_AT_ONCE = 2
"""Downloads whose next piece is being made."""


class ProfilePages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views
        self._exporting: set[UUID] = set()
        """Accounts whose data is being downloaded from this process: one download each."""
        self._exports = FairQueue(_EXPORTS_AT_ONCE, each=1, waiting=1_024, patience=None)

    def routes(self) -> list[Route]:
        return [
            Route("/account", self.show_profile, methods=["GET"]),
            Route("/account/name", self.rename, methods=["POST"]),
            Route("/account/email", self.move, methods=["POST"]),
            Route("/account/confirm", self.confirm, methods=["POST"]),
            Route("/account/security", self.show_security, methods=["GET"]),
            Route("/account/password", self.change_password, methods=["POST"]),
            Route("/account/passkeys/options", self.passkey_options, methods=["POST"]),
            Route("/account/passkeys", self.add_passkey, methods=["POST"]),
            Route("/account/passkeys/{id}/remove", self.ask_passkey, methods=["GET"]),
            Route("/account/passkeys/{id}/remove", self.remove_passkey, methods=["POST"]),
            Route("/account/sessions", self.show_sessions, methods=["GET"]),
            Route("/account/sessions/end-others", self.end_others, methods=["POST"]),
            Route("/account/sessions/{id}/end", self.end_session, methods=["POST"]),
            Route("/account/data", self.show_data, methods=["GET"]),
            Route("/account/data/export", self.export, methods=["POST"]),
            Route("/account/delete", self.ask_delete, methods=["GET"]),
            Route("/account/delete", self.delete, methods=["POST"]),
        ]

    # ── profile ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_profile(self, request: Request) -> Response:
        session = await self._auth.session(request)
        return self._page(request, "account/profile.html", form=Form(), **await self._profile(session))

    async def rename(self, request: Request) -> Response:
        session, form = await self._sent(request)
        try:
            await signup.rename(self._deps.auth, session.account, form.text("name"))
        except Invalid as error:
            return self._faulty(request, "account/profile.html", form, error, **await self._profile(session))
        return _back("/account", "name")

    async def move(self, request: Request) -> Response:
        session, form = await self._sent(request)
        try:
            await self._prove(session, form)
            is_done = await signup.move(self._deps.auth, session.account, form.text("email"))
        except (Invalid, RateLimited) as error:
            return self._faulty(request, "account/profile.html", form, error, **await self._profile(session))
        return _back("/account", "email" if is_done else "mail")

    async def confirm(self, request: Request) -> Response:
        session = await self._auth.session(request)
        await self._deps.sign_in_limiter.take_signed_in(session)
        await signup.confirm_later(self._deps.auth, session.account)
        return _back("/account", "confirm" if self._deps.auth.sends_mail else "logged")

    # ── password and passkeys ───────────────────────────────────────────────────────────────────────────────────────

    async def show_security(self, request: Request) -> Response:
        session = await self._auth.session(request)
        return self._page(request, "account/security.html", form=Form(), **await self._security(session))

    async def change_password(self, request: Request) -> Response:
        session, form = await self._sent(request)
        current, wanted, revokes_keys = (
            form.text("current_password"),
            form.text("password"),
            form.is_checked("revokes_keys"),
        )
        try:
            await self._deps.sign_in_limiter.take_signed_in(session)
            proven = await sign_in.change_password(self._deps.auth, session, current, wanted, revokes_keys=revokes_keys)
        except (Invalid, RateLimited) as error:
            return self._faulty(request, "account/security.html", form, error, **await self._security(session))
        answer = _back("/account/security", "keys" if revokes_keys else "password")
        await self._auth.sign_in(request, proven, answer)
        self._deps.sign_in_limiter.remember(answer, proven)
        return answer

    async def passkey_options(self, request: Request) -> Response:
        """Asks first who it is: a passkey outlives the session that made it."""
        session, form = await self._sent(request)
        try:
            await self._prove(session, form)
            options = await passkeys.options_to_make(self._deps.auth, session.account)
        except (Invalid, RateLimited) as error:
            fault = next(iter(error.errors.values()))[0] if isinstance(error, Invalid) else error.message
            return JSONResponse({"fault": fault}, 422)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def add_passkey(self, request: Request) -> Response:
        session, form = await self._sent(request)
        name, credential = form.text("passkey_name"), form.text("credential")
        try:
            await passkeys.add(self._deps.auth, session.account, name, credential)
        except Invalid as error:
            return self._faulty(request, "account/security.html", form, error, **await self._security(session))
        return _back("/account/security", "passkey")

    async def ask_passkey(self, request: Request) -> Response:
        session = await self._auth.session(request)
        passkey = await passkeys.find(self._deps.auth, session.account, _id(request))
        return self._page(request, "account/passkey.html", passkey=passkey, form=Form(), **await self._proof(session))

    async def remove_passkey(self, request: Request) -> Response:
        session, form = await self._sent(request)
        passkey = await passkeys.find(self._deps.auth, session.account, _id(request))
        try:
            await self._prove(session, form)
        except (Invalid, RateLimited) as error:
            shown = {"passkey": passkey, **await self._proof(session)}
            return self._faulty(request, "account/passkey.html", form, error, **shown)
        await passkeys.remove(self._deps.auth, session.account, passkey.id)
        async with self._deps.auth.db.read() as tx:
            if await sessions.lasts(tx, session):
                return _back("/account/security", "removed")
        return _back("/login", "passkey")

    # ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_sessions(self, request: Request) -> Response:
        session = await self._auth.session(request)
        async with self._deps.auth.db.read() as tx:
            found = await sessions.of_account(tx, session.account, now=self._deps.auth.clock())
        named = [(each, called(each.user_agent)) for each in found]
        return self._page(request, "account/sessions.html", sessions=named, current=session.id)

    async def end_session(self, request: Request) -> Response:
        session = await self._auth.session(request)
        async with self._deps.auth.db.write() as tx:
            if not await sessions.end(tx, session.account.id, _id(request)):
                raise NotFound
        return _back("/account/sessions", "ended")

    async def end_others(self, request: Request) -> Response:
        session = await self._auth.session(request)
        async with self._deps.auth.db.write() as tx:
            await sessions.end_all(tx, session.account.id, but=session.id)
        return _back("/account/sessions", "others")

    # ── data ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_data(self, request: Request) -> Response:
        await self._auth.session(request)
        return self._page(request, "account/data.html", fault="")

    async def export(self, request: Request) -> Response:
        session = await self._auth.session(request)
        account = session.account.id
        if account in self._exporting:
            fault = "Your data is being downloaded already. Wait until that has ended."
            return self._page(request, "account/data.html", status=429, fault=fault)
        await self._auth.limit_expensive(session, "export")
        self._exporting.add(account)
        name = f"waypost-{self._deps.auth.clock():%Y-%m-%d}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        pieces, ended = archive(self._deps, session, self._exports), partial(self._exporting.discard, account)
        return StreamedResponse(pieces, "application/zip", ended, headers=headers, unread=_UNREAD)

    async def ask_delete(self, request: Request) -> Response:
        session = await self._auth.session(request)
        return self._page(request, "account/delete.html", form=Form(), **await self._deletion(session))

    async def delete(self, request: Request) -> Response:
        session, form = await self._sent(request)
        try:
            await self._prove(session, form)
            await account_deletion.close(self._deps, session)
        except (Invalid, RateLimited) as error:
            return self._faulty(request, "account/delete.html", form, error, **await self._deletion(session))
        answer = RedirectResponse("/login?done=deleted", 303)
        await self._auth.sign_out(request, answer)
        return answer

    # ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _sent(self, request: Request) -> tuple[Session, Form]:
        return await self._auth.session(request), await read_form(request)

    async def _prove(self, session: Session, form: Form) -> None:
        await require_recent(self._deps, session, form)

    async def _profile(self, session: Session) -> dict[str, Any]:
        return {"account": session.account, "sends_mail": self._deps.auth.sends_mail, **await self._proof(session)}

    async def _security(self, session: Session) -> dict[str, Any]:
        needs_confirming = self._deps.auth.sends_mail and session.account.confirmed_at is None
        held, keys = await sign_in.others_in(self._deps.auth, session.account)
        shown = {"passkeys": held, "keys": keys, "needs_confirming": needs_confirming}
        return {**shown, **await self._proof(session)}

    async def _deletion(self, session: Session) -> dict[str, Any]:
        return {**await account_deletion.preview_deletion(self._deps, session.account), **await self._proof(session)}

    async def _proof(self, session: Session) -> dict[str, Any]:
        return await proof(self._deps, session)

    def _page(self, request: Request, template: str, **told: Any) -> Response:
        notice = _DONE.get(request.query_params.get("done", ""))
        return self._views.page(request, template, notice=notice, **told)

    def _faulty(
        self, request: Request, template: str, form: Form, error: Invalid | RateLimited, **told: Any
    ) -> Response:
        return faulty(self._views, request, template, form, error, **told)


def _back(way: str, done: str) -> RedirectResponse:
    return RedirectResponse(f"{way}?done={done}", 303)


def _id(request: Request) -> Any:
    found = parse_id(request.path_params["id"])
    if found is None:
        raise NotFound
    return found
