"""The accounts that a person is a member of: which one the session shows, its name, and the end of the person."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import account_settings
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.person_pages import PersonPages
from waypost.accounts.sessions import store as sessions
from waypost.accounts.setup import signup
from waypost.web.dashboard import PageCall, redirect, shows


class MembershipPages(PersonPages):
    def endpoints(self) -> list[Route]:
        accounts = shows("account/accounts.html", self._find_accounts)
        deletion = shows("account/delete_person.html", self._find_deleted)
        settings = shows("account/settings.html", self._find_settings)
        return [
            self.get("/account/accounts", accounts, "person"),
            self.form("/account/accounts", self.create_account, "person", accounts),
            self.post("/account/accounts/{id}", self.show_account, "person"),
            self.get("/account/delete-person", deletion, "person"),
            self.form("/account/delete-person", self.delete_person, "person", deletion),
            self.get("/account/settings", settings, "view"),
            self.form("/account/settings/name", self.change_name, "account.write", settings),
            self.form("/account/settings/email", self.change_email, "owners.write", settings),
        ]

    # ── the person's accounts ───────────────────────────────────────────────────────────────────────────────────────

    async def _find_accounts(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            listed = await memberships.list_of_person(tx, call.person.id)
        has_own = any(membership.account.email == call.person.email for membership in listed)
        can_create = signup.may_create_account(self._deps, call.person) and not has_own
        return {"memberships": listed, "can_create": can_create}

    async def show_account(self, call: PageCall) -> Response:
        async with self._deps.db.write() as tx:
            await sessions.show_account(tx, call.person_session, call.id)
        return redirect("/")

    async def create_account(self, call: PageCall) -> Response:
        account = await signup.create_account(self._deps, call.person)
        async with self._deps.db.write() as tx:
            await sessions.show_account(tx, call.person_session, account.id)
        return redirect("/")

    async def _find_deleted(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            listed = await memberships.list_of_person(tx, call.person.id)
        return {"memberships": listed, **await self._proof(call)}

    async def delete_person(self, call: PageCall) -> Response:
        await self._require_proven(call)
        await members.delete_person(self._deps, call.person, call.person_session.request_ip)
        response = redirect("/login", "person")
        await self._auth.sign_out(call.request, response)
        return response

    # ── the account ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _find_settings(self, call: PageCall) -> dict[str, Any]:
        async with self._deps.db.read() as tx:
            owners = await memberships.list_owners(tx, call.session.account.id)
        emails = sorted({call.session.account.email, *(owner.email for owner in owners)})
        return {"owners": owners, "emails": [(email, email) for email in emails]}

    async def change_name(self, call: PageCall) -> Response:
        await account_settings.change_name(self._deps, call.session, call.form.text("name"))
        return redirect("/account/settings", "account-name")

    async def change_email(self, call: PageCall) -> Response:
        await account_settings.change_email(self._deps, call.session, call.form.text("email"))
        return redirect("/account/settings", "account-email")
