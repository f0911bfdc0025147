"""Pages of the links in emails, and of the sign-in links that operators create.

The page of a link shows a button and has no effect by itself: mail scanners open every link.
"""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts import Person
from waypost.accounts.deps import Deps
from waypost.accounts.oidc import identities
from waypost.accounts.people import profile
from waypost.accounts.sessions.start import start_session
from waypost.accounts.setup.first_start import PLACEHOLDER
from waypost.accounts.setup.pages import PATH as SETUP_PATH
from waypost.accounts.sign_in import service as sign_in
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.kit.errors import Invalid, NotFound, RateLimited, WaypostError
from waypost.web.dashboard import BLANK, Form, NotSignedIn, PageError, Pages, get, post, redirect
from waypost.web.dashboard.notices import with_notice

T = TypeVar("T")

LINK_EXPIRED = "This link has expired or was already used."
_AFTER_EXPIRY = {
    "confirm": "If you have confirmed your email before, just sign in.",
    "invite": "Ask for a new invitation.",
    "enter": "The administrator creates a new link with the command waypost account sign-in-link.",
}


class LinkExpired(PageError, NotFound):
    """The link of an email is not valid."""


class EmailLinkPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            *password_routes(
                self._deps.auth,
                get("/forgot", self.show_forgot, "public"),
                post("/forgot", self.forgot, "public"),
                get("/reset/{token}", self.show_reset, "public"),
                post("/reset/{token}", self.reset, "public"),
            ),
            get("/confirm/{token}", self.show_confirm, "public"),
            post("/confirm/{token}", self.confirm, "public"),
            get("/enter/{token}", self.show_sign_in_link, "public"),
            post("/enter/{token}", self.sign_in_by_link, "public"),
        ]

    async def show_forgot(self, request: Request) -> Response:
        return self._render_forgot(request, BLANK)

    async def forgot(self, request: Request) -> Response:
        form = await self._read_public(request)
        email = form.text("email")
        try:
            person_with_hash = await sign_in.find_with_password(self._deps.auth, email)
            await self._deps.sign_in_limiter.check(request, email, person_with_hash)
            await sign_in.request_password_reset(self._deps.auth, email)
        except (Invalid, RateLimited) as error:
            return self._render_forgot(request, form, error)
        return self._render_forgot(request, form, is_sent=True)

    async def show_reset(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        person = await valid_link(request, sign_in.get_reset_person(self._deps.auth, _token(request)))
        context: dict[str, Any] = {"email": person.email, "passkeys": (), "keys": (), "identity": None}
        context["has_second_factor"] = await sign_in.has_second_factor(self._deps.auth, person)
        if person.confirmed_at:
            context["passkeys"], context["keys"] = await sign_in.list_other_credentials(self._deps.auth, person)
            async with self._deps.auth.db.read() as tx:
                context["identity"] = await identities.find(tx, person.id)
        return self._views.form(request, "account/reset.html", form, error, **context)

    async def reset(self, request: Request) -> Response:
        form = await self._read_public(request)
        try:
            await self._deps.sign_in_limiter.check(request)
            reset = sign_in.reset_password(
                self._deps.auth,
                _token(request),
                form.text("password"),
                remove_credentials=form.is_checked("remove_credentials"),
                code=form.text("code"),
                ip=self._auth.storable_address(request),
            )
            authenticated = await valid_link(request, reset)
        except (Invalid, RateLimited) as error:
            return await self.show_reset(request, form, error)
        return await start_session(self._deps, self._auth, request, authenticated, "/")

    async def show_confirm(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        person, email = await valid_link(request, profile.get_confirmation(self._deps.auth, _token(request)))
        is_signed_in = await self._is_signed_in(request, person)
        if not is_signed_in and not self._deps.auth.has_passwords:
            raise NotSignedIn
        return self._views.form(
            request,
            "account/confirm.html",
            form,
            error,
            email=email,
            is_first=email == person.email,
            is_signed_in=is_signed_in,
            has_password=await sign_in.has_password(self._deps.auth, person),
        )

    async def confirm(self, request: Request) -> Response:
        """Require the person's session or password: who reads the email may not have signed up."""
        self._auth.require_same_origin(request)
        person, _ = await valid_link(request, profile.get_confirmation(self._deps.auth, _token(request)))
        form, authenticated = BLANK, None
        try:
            if not await self._is_signed_in(request, person):
                if not self._deps.auth.has_passwords:
                    raise NotSignedIn
                form = await self._read_public(request)
                person_with_hash = await sign_in.find_with_password(self._deps.auth, person.email)
                client = await self._deps.sign_in_limiter.check(request, person.email, person_with_hash)
                password = form.text("password")
                authenticated = await sign_in.verify_password(self._deps.auth, person, password, client)
            confirmed = await valid_link(request, self._confirm(request))
        except (Invalid, RateLimited) as error:
            return await self.show_confirm(request, form, error)
        path = with_notice("/account", "confirmed")
        if authenticated is None:
            return redirect(path)
        return await start_session(self._deps, self._auth, request, replace(authenticated, person=confirmed), path)

    async def _confirm(self, request: Request) -> Person:
        return await profile.confirm(self._deps.auth, _token(request), ip=self._auth.storable_address(request))

    async def show_sign_in_link(self, request: Request) -> Response:
        person = await valid_link(request, sign_in.get_sign_in_link_person(self._deps.auth, _token(request)))
        return self._views.render_page(request, "account/sign_in_link.html", email=person.email)

    async def sign_in_by_link(self, request: Request) -> Response:
        self._auth.require_same_origin(request)
        authenticated = await valid_link(request, sign_in.sign_in_by_link(self._deps.auth, _token(request)))
        path = SETUP_PATH if authenticated.person.email == PLACEHOLDER else "/"
        return await start_session(self._deps, self._auth, request, authenticated, path)

    async def _is_signed_in(self, request: Request, person: Person) -> bool:
        session = await self._auth.peek_session(request)
        return session is not None and session.person.id == person.id

    def _render_forgot(
        self, request: Request, form: Form, error: WaypostError | None = None, *, is_sent: bool = False
    ) -> Response:
        context: dict[str, Any] = {"is_sent": is_sent, "sends_mail": self._deps.auth.sends_mail}
        return self._views.form(request, "account/forgot.html", form, error, **context)


def _token(request: Request) -> str:
    token: str = request.path_params["token"]
    return token


async def valid_link(request: Request, result: Awaitable[T]) -> T:
    """Replace NotFound by an error about the link, with the next step for its kind."""
    try:
        return await result
    except NotFound:
        kind = request.url.path.split("/")[1]
        next_step = ("/forgot", "Request a new link") if kind == "reset" else None
        message = " ".join(filter(None, (LINK_EXPIRED, _AFTER_EXPIRY.get(kind))))
        raise LinkExpired(message, title="Link expired", next_step=next_step) from None
