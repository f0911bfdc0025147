"""Set-up: the page at which the owner of a service without one enters an email and a password.

It is open to the sign-in link of the first start, to the code in the log, and, without either, to browsers on this
machine where nobody else can reach the service. A website that such a browser shows can send forms, too: their `Origin`
is not the service's.
"""

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import Person
from waypost.accounts.person_pages import PersonPages
from waypost.accounts.setup import first_start
from waypost.accounts.setup import service as setup
from waypost.http.client_address import is_from_this_machine
from waypost.kit.errors import NotFound
from waypost.web.dashboard import Form, PageCall, redirect

PATH = "/setup"


class _Visitor(NamedTuple):
    pending: Person
    needs_code: bool


class SetupPages(PersonPages):
    def endpoints(self) -> list[Route]:
        show, complete = self.get(PATH, self.show, "public"), self.form(PATH, self.complete, "public", self.show)
        return self._password_routes(show, complete)

    async def show(self, call: PageCall) -> Response:
        visitor = await self._find_visitor(call.request)
        if visitor is None:
            return await self._close(call.request)
        form = Form({"code": call.query("code")})  # as in the URL that the log shows
        context = {"needs_code": visitor.needs_code, "has_sso": self._deps.oidc is not None}
        return call.render("account/setup.html", form, **context)

    async def complete(self, call: PageCall) -> Response:
        visitor = await self._find_visitor(call.request)
        if visitor is None:
            return await self._close(call.request)
        try:
            client = await self._deps.sign_in_limiter.check(call.request, first_start.PLACEHOLDER)
            if visitor.needs_code:
                setup.check_code(self._deps, visitor.pending, call.form.text("code"))
            authenticated = await setup.complete(
                self._deps,
                visitor.pending,
                email=call.form.text("email"),
                name=call.form.text("name"),
                password=call.form.text("password"),
                client=client,
                ip=self._auth.storable_address(call.request),
            )
        except NotFound:
            return await self._close(call.request)
        return await self._start_session(call, authenticated, "/")

    async def _find_visitor(self, request: Request) -> _Visitor | None:
        """Return what the visitor may complete; None if there is an owner, and for other people."""
        if session := await self._auth.find_session(request):
            async with self._deps.db.read() as tx:
                is_own = await first_start.is_incomplete(tx, session.person)
            return _Visitor(session.person, needs_code=False) if is_own else None
        pending = await first_start.find_pending(self._deps.db)
        return _Visitor(pending, not self._is_local(request)) if pending else None

    def _is_local(self, request: Request) -> bool:
        is_own_page = request.method == "GET" or request.headers.get("origin") == self._deps.base_url
        return self._deps.is_local and is_own_page and is_from_this_machine(request)

    async def _close(self, request: Request) -> Response:
        """Lead on: also a person who has added a passkey, and only lacks an email and a name."""
        if session := await self._auth.find_session(request):
            return redirect("/account" if session.person.email == first_start.PLACEHOLDER else "/")
        return redirect("/login", "setup")
