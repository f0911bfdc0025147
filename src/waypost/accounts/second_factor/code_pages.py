"""The step of a sign-in after the password: the code of the second factor, or a recovery code."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.second_factor import verification
from waypost.accounts.sessions.start import CODE_COOKIE, CODE_PATH, cookie_name, start_session
from waypost.accounts.sign_in.next_path import safe_next_path
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.kit.errors import Invalid, NotFound, RateLimited, WaypostError
from waypost.web.dashboard import BLANK, Form, Pages, get, post, redirect


class CodePages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return password_routes(
            self._deps.auth, get(CODE_PATH, self.show, "public"), post(CODE_PATH, self.sign_in, "public")
        )

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        try:
            person, _ = await verification.get_waiting(self._deps.auth, self._token(request))
        except NotFound:
            return redirect("/login", "expired")
        path = safe_next_path(form.text("next") or request.query_params.get("next", ""))
        is_recovery = form.is_checked("recovery") or "recovery" in request.query_params
        return self._views.form(
            request, "account/code.html", form, error, email=person.email, next=path, is_recovery=is_recovery
        )

    async def sign_in(self, request: Request) -> Response:
        form, token = await self._read_public(request), self._token(request)
        try:
            person, password = await verification.get_waiting(self._deps.auth, token)
            client = await self._deps.sign_in_limiter.check(request, person.email, (person, password))
            ip = self._auth.storable_address(request)
            authenticated = await verification.finish(self._deps.auth, token, person, form.text("code"), client, ip=ip)
        except NotFound:
            return redirect("/login", "expired")
        except (Invalid, RateLimited) as error:
            return await self.show(request, form, error)
        path = safe_next_path(form.text("next"))
        response = await start_session(self._deps, self._auth, request, authenticated, path)
        name = cookie_name(self._deps, CODE_COOKIE)
        response.delete_cookie(name, secure=name.startswith("__Host-"), httponly=True, samesite="lax")
        return response

    def _token(self, request: Request) -> str:
        return request.cookies.get(cookie_name(self._deps, CODE_COOKIE), "")
