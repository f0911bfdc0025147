"""Pages that set up and remove the second factor of the person who is signed in."""

import asyncio
from base64 import b64encode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import AuthenticationResult
from waypost.accounts.deps import Deps
from waypost.accounts.people import store as people
from waypost.accounts.second_factor import service, totp
from waypost.accounts.sessions.store import PersonSession
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.accounts.sign_in.reauthentication import proof_context, refuse_unproven, require_proven, require_recent
from waypost.kit.errors import Invalid, NotFound, RateLimited, WaypostError
from waypost.web.dashboard import BLANK, Form, NotSignedIn, Pages, get, post, redirect

PATH = "/account/two-factor"
_SECURITY = "/account/security"


class SecondFactorPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            *password_routes(
                self._deps.auth,
                get(PATH, self.show_start, "person"),
                self.form(PATH, self.start, "person", self.show_start),
                post(f"{PATH}/confirm", self.confirm, "person"),
                get(f"{PATH}/recovery-codes", self.show_replacement, "person"),
                self.form(f"{PATH}/recovery-codes", self.replace, "person", self.show_replacement),
            ),
            get(f"{PATH}/remove", self.show_removal, "person"),
            self.form(f"{PATH}/remove", self.remove, "person", self.show_removal),
        ]

    async def show_start(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_person(request)
        if error is None and await service.find(self._deps.auth, session.person):
            return redirect(_SECURITY)
        return await self._render(request, session, "two_factor_start", form, error)

    async def start(self, request: Request, session: PersonSession, form: Form) -> Response:
        """Show the secret. The response is a page instead of a redirect, because the secret is not stored yet."""
        session = await require_proven(self._deps, session, form)
        setup = await service.begin(self._deps.auth, session)
        return await self._render_setup(request, setup, BLANK)

    async def confirm(self, request: Request) -> Response:
        session, form = await self._read_as_person(request)
        try:
            setup = service.reopen(self._deps.auth, session, form.text("setup"))
        except Invalid as error:
            return await self.show_start(request, form, error)
        try:
            await self._deps.sign_in_limiter.check_session(session)
            await refuse_unproven(self._deps, session)
            codes = await service.confirm(self._deps.auth, session, setup, form.text("code"))
        except (Invalid, RateLimited) as error:
            return await self._render_setup(request, setup, form, error)
        except NotFound:  # the session has ended
            raise NotSignedIn from None
        response = self._render_codes(request, codes, is_new=True)
        async with self._deps.auth.db.read() as tx:
            password = await people.find_password_hash(tx, session.person.id)
        await self._deps.sign_in_limiter.remember(response, AuthenticationResult(session.person, password=password))
        return response

    async def show_replacement(
        self, request: Request, form: Form = BLANK, error: WaypostError | None = None
    ) -> Response:
        session = await self._require_factor(request)
        return await self._render(request, session, "recovery_codes_new", form, error)

    async def replace(self, request: Request, session: PersonSession, form: Form) -> Response:
        session = await require_recent(self._deps, session, form)
        return self._render_codes(request, await service.replace_recovery_codes(self._deps.auth, session), is_new=False)

    async def show_removal(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._require_factor(request)
        return await self._render(request, session, "two_factor_remove", form, error)

    async def remove(self, _request: Request, session: PersonSession, form: Form) -> Response:
        session = await require_recent(self._deps, session, form)
        await service.remove(self._deps.auth, session)
        return redirect(_SECURITY, "two-factor")

    # ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _require_factor(self, request: Request) -> PersonSession:
        """Raise NotFound without a second factor."""
        session = await self._auth.require_person(request)
        if await service.find(self._deps.auth, session.person) is None:
            raise NotFound
        return session

    async def _render(
        self, request: Request, session: PersonSession, name: str, form: Form, error: WaypostError | None
    ) -> Response:
        context = await proof_context(self._deps, session)
        return self._views.form(request, f"account/{name}.html", form, error, **context)

    async def _render_setup(
        self, request: Request, setup: service.Setup, form: Form, error: WaypostError | None = None
    ) -> Response:
        image = await asyncio.to_thread(_qr_code, setup.uri)
        context = {"image": image, "secret": totp.in_groups(setup.secret), "setup": setup.sealed}
        return self._views.form(request, "account/two_factor_setup.html", form, error, **context)

    def _render_codes(self, request: Request, codes: list[str], *, is_new: bool) -> Response:
        return self._views.render_page(request, "account/recovery_codes.html", codes=codes, is_new=is_new)


def _qr_code(text: str) -> str:
    """Return the image as a data URL. Takes milliseconds."""
    from waypost.resources.qrcodes.drawing import svg  # noqa: PLC0415  # only for people who set this up
    from waypost.resources.qrcodes.style import CodeStyle  # noqa: PLC0415

    return f"data:image/svg+xml;base64,{b64encode(svg(text, CodeStyle(size=240))).decode()}"
