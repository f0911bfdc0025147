"""Invitations to the account, and the page that accepts one.

That page shows what is accepted and has no effect by itself: mail scanners open every link.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.members import invitations
from waypost.accounts.members.invitation_store import Invitation
from waypost.accounts.members.pages import PATH, read_role, role_choices
from waypost.accounts.model import ROLES
from waypost.accounts.people.email_link_pages import valid_link
from waypost.accounts.roles import action_to_change, may
from waypost.accounts.sessions.start import start_session
from waypost.accounts.sessions.store import PersonSession, Session
from waypost.accounts.sign_in.password_routes import password_routes
from waypost.accounts.sign_in.reauthentication import reauthentication_context, require_recent
from waypost.kit.errors import Invalid, RateLimited, WaypostError
from waypost.web.dashboard import BLANK, Form, Pages, get, post, redirect

_ONE = f"{PATH}/invitations/{{id}}"
_TOKEN = "/invite/account/{token}"  # noqa: S105


class InvitationPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(f"{PATH}/invite", self.new, "members.write"),
            self.form(f"{PATH}/invite", self.create, "members.write", self.new),
            get(_ONE, self.show, "members.write"),
            self.form(f"{_ONE}/resend", self.resend, "members.write", self.show),
            post(f"{_ONE}/revoke", self.revoke, "members.write"),
            get(_TOKEN, self.show_accept, "public"),
            self.form(_TOKEN, self.accept, "person", self.show_accept),
            *password_routes(self._deps.auth, post(f"{_TOKEN}/signup", self.sign_up, "public")),
        ]

    # ── who invites ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def new(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        choices = role_choices([role for role in ROLES if may(session.role, action_to_change(None, role))])
        context = {"roles": choices, "sends_mail": self._deps.auth.sends_mail}
        return await self._render(request, session, "account/invite.html", form, error, **context)

    async def create(self, request: Request, session: Session, form: Form) -> Response:
        await self._auth.limit_expensive(session, "invite")
        await require_recent(self._deps, session, form)
        made = await invitations.create(self._deps.auth, session, email=_read_email(form), role=read_role(form))
        return self._made(request, made)

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session = await self._auth.require_session(request)
        invitation = await invitations.get_open(self._deps.auth, session.account.id, self._path_id(request))
        is_void = not invitations.is_permitted(invitation)
        context = {"invitation": invitation, "is_void": is_void}
        return await self._render(request, session, "account/invitation.html", form, error, **context)

    async def resend(self, request: Request, session: Session, form: Form) -> Response:
        await self._auth.limit_expensive(session, "invite")
        await require_recent(self._deps, session, form)
        made = await invitations.resend(self._deps.auth, session, self._path_id(request))
        return self._made(request, made)

    async def revoke(self, request: Request) -> Response:
        session, _ = await self._read(request)
        await invitations.revoke(self._deps.auth, session, self._path_id(request))
        return redirect(PATH, "invitation-revoked")

    # ── who is invited ──────────────────────────────────────────────────────────────────────────────────────────────

    async def show_accept(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        deps = self._deps.auth
        invitation = await self._get(request)
        session = await self._auth.peek_session(request)
        context: dict[str, Any] = {
            "invitation": invitation,
            "token": request.path_params["token"],
            "has_passwords": deps.has_passwords,
            "needs_confirmation": deps.sends_mail and invitation.email is None,
            "has_sign_in": not session and await invitations.has_sign_in(deps, invitation),
        }
        if session:
            context["is_member"] = await invitations.is_member(deps, invitation, session.person.id)
            context["is_for_other"] = invitation.email not in (None, session.person.email)
        return self._views.form(request, "account/accept_invitation.html", form, error, **context)

    async def accept(self, request: Request, session: PersonSession, _form: Form) -> Response:
        await valid_link(request, invitations.accept(self._deps.auth, session, request.path_params["token"]))
        return redirect("/")

    async def sign_up(self, request: Request) -> Response:
        form = await self._read_public(request)
        try:
            email = (await self._get(request)).email or form.text("email")
            signed_up = invitations.sign_up(
                self._deps.auth,
                await self._deps.sign_in_limiter.check(request, email),
                request.path_params["token"],
                email=email,
                name=form.text("name"),
                password=form.text("password"),
                ip=self._auth.storable_address(request),
            )
            authenticated = await valid_link(request, signed_up)
        except (Invalid, RateLimited) as error:
            return await self.show_accept(request, form, error)
        if authenticated is None:
            text = email.strip()
            return self._views.render_page(request, "account/signed_up.html", email=text, is_invited=True)
        return await start_session(self._deps, self._auth, request, authenticated, "/")

    async def _get(self, request: Request) -> Invitation:
        return await valid_link(request, invitations.get(self._deps.auth, request.path_params["token"]))

    def _made(self, request: Request, made: invitations.NewInvitation) -> Response:
        """Redirect, or show the link, which cannot be shown again."""
        if made.url is None:
            return redirect(PATH, "invited")
        return self._views.render_page(request, "account/invitation_link.html", status=201, made=made)

    async def _render(
        self,
        request: Request,
        session: Session,
        template: str,
        form: Form,
        error: WaypostError | None,
        **context: Any,
    ) -> Response:
        context |= await reauthentication_context(self._deps, session)
        return self._views.form(request, template, form, error, **context)


def _read_email(form: Form) -> str:
    """Return the email; empty for a link. Raises Invalid."""
    if form.text("kind") == "link":
        return ""
    if not form.text("email").strip():
        raise Invalid({"email": ["Enter an email address."]})
    return form.text("email")
