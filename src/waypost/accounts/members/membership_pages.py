"""The accounts that a person is a member of: which one the session shows, its name, and the end of the person."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import account_settings
from waypost.accounts.deps import Deps
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.accounts.setup import signup
from waypost.accounts.sign_in.reauthentication import proof_context, require_proven
from waypost.kit.errors import WaypostError
from waypost.web.dashboard import BLANK, Form, Pages, get, post, redirect


class MembershipPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get("/account/accounts", self.list_accounts, "person"),
            self.form("/account/accounts", self.create_account, "person", self.list_accounts),
            post("/account/accounts/{id}", self.show_account, "person"),
            get("/account/delete-person", self.show_deletion, "person"),
            self.form("/account/delete-person", self.delete_person, "person", self.show_deletion),
            get("/account/settings", self.show_settings, "view"),
            self.form("/account/settings/name", self.change_name, "account.write", self.show_settings),
            self.form("/account/settings/email", self.change_email, "owners.write", self.show_settings),
        ]

    # ── the person's accounts ───────────────────────────────────────────────────────────────────────────────────────

    async def list_accounts(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.read() as tx:
            listed = await memberships.list_of_person(tx, session.person.id)
        has_own = any(membership.account.email == session.person.email for membership in listed)
        return self._views.form(
            request,
            "account/accounts.html",
            form,
            error,
            memberships=listed,
            can_create=signup.may_create_account(self._deps.auth, session.person) and not has_own,
        )

    async def show_account(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.write() as tx:
            await sessions.show_account(tx, session, self._path_id(request))
        return redirect("/")

    async def create_account(self, _request: Request, session: PersonSession, _form: Form) -> Response:
        account = await signup.create_account(self._deps.auth, session.person)
        async with self._deps.auth.db.write() as tx:
            await sessions.show_account(tx, session, account.id)
        return redirect("/")

    async def show_deletion(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.read() as tx:
            listed = await memberships.list_of_person(tx, session.person.id)
        context: dict[str, Any] = {"memberships": listed, **await proof_context(self._deps, session)}
        return self._views.form(request, "account/delete_person.html", form, error, **context)

    async def delete_person(self, request: Request, session: PersonSession, form: Form) -> Response:
        await require_proven(self._deps, session, form)
        await members.delete_person(self._deps.auth, session.person, session.request_ip)
        response = redirect("/login", "person")
        await self._auth.sign_out(request, response)
        return response

    # ── the account ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def show_settings(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        async with self._deps.auth.db.read() as tx:
            owners = await memberships.list_owners(tx, session.account.id)
        context = {
            "owners": owners,
            "emails": [(email, email) for email in sorted({session.account.email, *(owner.email for owner in owners)})],
        }
        return self._views.form(request, "account/settings.html", form, error, **context)

    async def change_name(self, _request: Request, session: Session, form: Form) -> Response:
        await account_settings.change_name(self._deps.auth, session, form.text("name"))
        return redirect("/account/settings", "account-name")

    async def change_email(self, _request: Request, session: Session, form: Form) -> Response:
        await account_settings.change_email(self._deps.auth, session, form.text("email"))
        return redirect("/account/settings", "account-email")
