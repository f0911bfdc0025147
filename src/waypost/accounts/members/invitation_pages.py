"""Invitations to the account, and the page that accepts one.

That page shows what is accepted and has no effect by itself: mail scanners open every link.
"""

import re
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from waypost.accounts.members import invitations
from waypost.accounts.members.invitation_store import Invitation
from waypost.accounts.members.pages import PATH, read_role, role_choices
from waypost.accounts.model import ROLES
from waypost.accounts.person_pages import PersonPages, valid_link
from waypost.accounts.roles import action_to_change, may
from waypost.kit.errors import Invalid
from waypost.web.dashboard import Form, PageCall, redirect

_ONE = f"{PATH}/invitations/{{id}}"
_TOKEN = "/invite/account/{token}"  # noqa: S105


class InvitationPages(PersonPages):
    def endpoints(self) -> list[Route]:
        return [
            self.get(f"{PATH}/invite", self.new, "members.write"),
            self.form(f"{PATH}/invite", self.create, "members.write", self.new),
            self.get(_ONE, self.show, "members.write"),
            self.form(f"{_ONE}/resend", self.resend, "members.write", self.show),
            self.action(f"{_ONE}/revoke", invitations.revoke, "members.write", PATH, "invitation-revoked"),
            self.get(_TOKEN, self.show_accept, "public"),
            self.form(_TOKEN, self.accept, "person", self.show_accept),
            *self._password_routes(self.form(f"{_TOKEN}/signup", self.sign_up, "public", self.show_accept)),
        ]

    # ── who invites ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def new(self, call: PageCall) -> Response:
        choices = role_choices([role for role in ROLES if may(call.session.role, action_to_change(None, role))])
        context = {"roles": choices, "sends_mail": self._deps.sends_mail}
        return await self._render(call, "account/invite.html", **context)

    async def create(self, call: PageCall) -> Response:
        await self._auth.limit_expensive(call.session, "invite")
        await self._require_recent(call)
        addresses, role = _read_addresses(call.form), read_role(call.form)
        return self._made(call, await invitations.create_all(self._deps, call.session, addresses=addresses, role=role))

    async def show(self, call: PageCall) -> Response:
        invitation = await invitations.get_open(self._deps, call.session.account.id, call.id)
        is_void = not invitations.is_permitted(invitation)
        context = {"invitation": invitation, "is_void": is_void}
        return await self._render(call, "account/invitation.html", **context)

    async def resend(self, call: PageCall) -> Response:
        await self._auth.limit_expensive(call.session, "invite")
        await self._require_recent(call)
        return self._made(call, [await invitations.resend(self._deps, call.session, call.id)])

    # ── who is invited ──────────────────────────────────────────────────────────────────────────────────────────────

    async def show_accept(self, call: PageCall) -> Response:
        deps = self._deps
        invitation = await self._get(call)
        session = await self._auth.peek_session(call.request)
        context: dict[str, Any] = {
            "invitation": invitation,
            "token": call.token,
            "has_passwords": deps.has_passwords,
            "needs_confirmation": deps.sends_mail and invitation.email is None,
            "has_sign_in": not session and await invitations.has_sign_in(deps, invitation),
        }
        if session:
            context["is_member"] = await invitations.is_member(deps, invitation, session.person.id)
            context["is_for_other"] = invitation.email not in (None, session.person.email)
        return call.render("account/accept_invitation.html", **context)

    async def accept(self, call: PageCall) -> Response:
        await valid_link(call, invitations.accept(self._deps, call.person_session, call.token))
        return redirect("/")

    async def sign_up(self, call: PageCall) -> Response:
        email = (await self._get(call)).email or call.form.text("email")
        signed_up = invitations.sign_up(
            self._deps,
            await self._deps.sign_in_limiter.check(call.request, email),
            call.token,
            email=email,
            name=call.form.text("name"),
            password=call.form.text("password"),
            ip=self._auth.storable_address(call.request),
        )
        authenticated = await valid_link(call, signed_up)
        if authenticated is None:
            return call.render("account/signed_up.html", email=email.strip(), is_invited=True)
        return await self._start_session(call, authenticated, "/")

    async def _get(self, call: PageCall) -> Invitation:
        return await valid_link(call, invitations.get(self._deps, call.token))

    def _made(self, call: PageCall, made: Sequence[invitations.NewInvitation]) -> Response:
        """Redirect, or show the links, which cannot be shown again."""
        if made[0].url is None:
            return redirect(PATH, "invited" if len(made) == 1 else "all-invited")
        return call.render("account/invitation_link.html", status=201, made=made)

    async def _render(self, call: PageCall, template: str, **context: Any) -> Response:
        return call.render(template, **context, **await self._reauthentication(call))


def _read_addresses(form: Form) -> list[str]:
    """Return what commas, spaces and lines separate; one empty text for a link. Raises Invalid."""
    if form.text("kind") == "link":
        return [""]
    addresses = [text for text in re.split(r"[\s,;]+", form.text("email")) if text]
    if not addresses:
        raise Invalid({"email": ["Enter an email address."]})
    return addresses
