"""What an account requires of the sign-ins of its members: the owners' page, and the page of those who lack it."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.second_factor import required as required_factor
from waypost.accounts.sessions.store import Session
from waypost.accounts.sign_in.reauthentication import reauthentication_context, require_recent
from waypost.kit.errors import WaypostError
from waypost.web.dashboard import BLANK, Form, Pages, get, redirect

PATH = "/account/sign-in-rules"


class RequiredFactorPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(PATH, self.show, "security.write"),
            self.form(PATH, self.change, "security.write", self.show),
            get("/account/required", self.show_missing, "person"),
        ]

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        if error is None:
            form = Form({"required_factor": await required_factor.find(self._deps.auth, session)})
        context = await reauthentication_context(self._deps, session)
        return self._views.form(request, "account/sign_in_rules.html", form, error, **context)

    async def change(self, _request: Request, session: Session, form: Form) -> Response:
        session = await require_recent(self._deps, session, form)
        await required_factor.change(self._deps.auth, session, form.text("required_factor"))
        return redirect(PATH, "sign-in-rules")

    async def show_missing(self, request: Request) -> Response:
        session = await self._auth.require_person(request)
        if session.missing is None:
            return redirect("/")
        context = await reauthentication_context(self._deps, session)
        return self._views.render_page(
            request, "account/required.html", missing=session.missing, sends_mail=self._deps.auth.sends_mail, **context
        )
