"""The accounts that a person is a member of, and which of them the session shows."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.auth import memberships, sessions
from waypost.resources.account.deps import Deps
from waypost.web.dashboard import Pages, get, post


class MembershipPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get("/account/accounts", self.list_accounts, "person"),
            post("/account/accounts/{id}", self.show_account, "person"),
        ]

    async def list_accounts(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.read() as tx:
            found = await memberships.list_of_person(tx, session.person.id)
        return self._views.render_page(request, "account/accounts.html", memberships=found)

    async def show_account(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        async with self._deps.auth.db.write() as tx:
            await sessions.show_account(tx, session, self._path_id(request))
        return RedirectResponse("/", 303)
