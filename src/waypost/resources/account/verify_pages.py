"""The page that confirms who is signed in, by password or passkey, and leads back to where that was needed."""

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from waypost.auth import passkeys, sign_in
from waypost.auth.sessions import Session
from waypost.kit.errors import Invalid, RateLimited
from waypost.resources.account.auth_pages import faulty, way_on
from waypost.resources.account.deps import Deps
from waypost.resources.account.reauthentication import proof, require_recent
from waypost.web.dashboard import Form, SessionAuth, Views, read_form


class VerifyPages:
    def __init__(self, deps: Deps, auth: SessionAuth, views: Views) -> None:
        self._deps = deps
        self._auth = auth
        self._views = views

    def routes(self) -> list[Route]:
        return [
            Route("/account/verify", self.show, methods=["GET"]),
            Route("/account/verify", self.by_password, methods=["POST"]),
            Route("/account/verify/passkey/options", self.passkey_options, methods=["POST"]),
            Route("/account/verify/passkey", self.by_passkey, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        session = await self._auth.session(request)
        form = Form({"next": way_on(request.query_params.get("next", ""))})
        if sign_in.is_fresh(self._deps.auth, session):
            return RedirectResponse(form.text("next"), 303)
        return await self._page(request, session, form)

    async def by_password(self, request: Request) -> Response:
        session, form = await self._auth.session(request), await read_form(request)
        try:
            await require_recent(self._deps, session, form)
        except (Invalid, RateLimited) as error:
            return await self._page(request, session, form, error)
        return RedirectResponse(way_on(form.text("next")), 303)

    async def passkey_options(self, request: Request) -> Response:
        session = await self._auth.session(request)
        await self._deps.sign_in_limiter.take_signed_in(session)
        options = await passkeys.options_to_use(self._deps.auth)
        return JSONResponse(options, headers={"Cache-Control": "no-store"})

    async def by_passkey(self, request: Request) -> Response:
        session, form = await self._auth.session(request), await read_form(request)
        try:
            await self._deps.sign_in_limiter.take_signed_in(session)
            await sign_in.prove_by_passkey(self._deps.auth, session, form.text("credential"))
        except (Invalid, RateLimited) as error:
            return await self._page(request, session, form, error)
        return RedirectResponse(way_on(form.text("next")), 303)

    async def _page(
        self, request: Request, session: Session, form: Form, error: Invalid | RateLimited | None = None
    ) -> Response:
        shown = {**await proof(self._deps, session), "sends_mail": self._deps.auth.sends_mail}
        if error is None:
            return self._views.page(request, "account/verify.html", form=form, **shown)
        return faulty(self._views, request, "account/verify.html", form, error, **shown)
