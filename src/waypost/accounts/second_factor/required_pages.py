"""What an account requires of the sign-ins of its members: the owners' page, and the page of those who lack it."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.second_factor import required as required_factor
from waypost.accounts.sessions.store import Session
from waypost.accounts.sign_in.reauthentication import reauthentication_context, require_recent
from waypost.kit.errors import Invalid, RateLimited, WaypostError
from waypost.web.dashboard import Form, Pages, get, post, redirect

PATH = "/account/sign-in-rules"


class RequiredFactorPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(PATH, self.show, "security.write"),
            post(PATH, self.change, "security.write"),
            get("/account/required", self.show_missing, "person"),
        ]

    async def show(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        required = await required_factor.find(self._deps.auth, session)
        return await self._render(request, session, Form({"required_factor": required}))

    async def change(self, request: Request) -> Response:
        session, form = await self._read(request)
        try:
            session = await require_recent(self._deps, session, form)
            await required_factor.change(self._deps.auth, session, form.text("required_factor"))
        except (Invalid, RateLimited) as error:
            return await self._render(request, session, form, error)
        return redirect(PATH, "sign-in-rules")

    async def show_missing(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        if session.missing is None:
            return redirect("/")
        context = await reauthentication_context(self._deps, session)
        return self._views.render_page(
            request, "account/required.html", missing=session.missing, sends_mail=self._deps.auth.sends_mail, **context
        )

    async def _render(
        self, request: Request, session: Session, form: Form, error: WaypostError | None = None
    ) -> Response:
        context = await reauthentication_context(self._deps, session)
        return self._views.form(request, "account/sign_in_rules.html", form, error, **context)
