"""Members of the account: list, roles, removal, leaving, and the transfer of ownership."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost import accounts
from waypost.accounts import is_usable, roles
from waypost.accounts.deps import Deps
from waypost.accounts.members import invitations, ownership
from waypost.accounts.members import listing as member_list
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import ROLES, ApiKey, Role
from waypost.accounts.sessions.store import Session
from waypost.accounts.sign_in.reauthentication import reauthentication_context, require_recent
from waypost.kit.errors import Invalid, WaypostError, or_not_found
from waypost.kit.ids import parse_id
from waypost.web import require_pagination
from waypost.web.dashboard import BLANK, Form, Pages, get, post, redirect

PATH = "/account/members"
_PER_PAGE = 50
_MAX_SEARCH = 100


class MemberPages(Pages[Deps]):
    def endpoints(self) -> list[Route]:
        return [
            get(PATH, self.list_members, "view"),
            self.form(f"{PATH}/leave", self.leave, "view", self.show),
            post(f"{PATH}/offer/accept", self.accept_offer, "view"),
            post(f"{PATH}/offer/withdraw", self.withdraw_offer, "view"),
            get(f"{PATH}/{{id:uuid}}", self.show, "view"),
            self.form(f"{PATH}/{{id:uuid}}/role", self.change_role, "members.write", self.show),
            self.form(f"{PATH}/{{id:uuid}}/remove", self.remove, "members.write", self.show),
            self.form(f"{PATH}/{{id:uuid}}/offer", self.offer, "owners.write", self.show),
        ]

    async def list_members(self, request: Request) -> Response:
        session = await self._auth.require_session(request)
        search = request.query_params.get("search", "").strip()[:_MAX_SEARCH].replace("\0", "")
        role = request.query_params.get("role", "")
        role = role if role in ROLES else ""
        pagination = replace(require_pagination(request), per_page=_PER_PAGE)
        async with self._deps.auth.db.read() as tx:
            page = await member_list.list_page(tx, session.account.id, pagination, search=search, role=role)
        can_invite = roles.may(session.role, "members.write")
        offer = await ownership.find(self._deps.auth, session.account.id)
        return self._views.render_page(
            request,
            "account/members.html",
            page=page,
            filters={"search": search, "role": role},
            roles=ROLES,
            invited=await invitations.list_open(self._deps.auth, session.account.id) if can_invite else (),
            is_permitted=invitations.is_permitted,
            offer=offer if offer and session.person.id in (offer.person_id, offer.offered_by) else None,
        )

    async def show(self, request: Request, form: Form = BLANK, error: WaypostError | None = None) -> Response:
        session, deps = await self._auth.require_session(request), self._deps.auth
        person_id = self._person_id(request, session)
        async with deps.db.read() as tx:
            member = or_not_found(await member_list.find(tx, session.account.id, person_id))
            owners = await memberships.list_owners(tx, session.account.id)
        is_self = member.id == session.person.id
        others = [owner for owner in owners if owner.id != member.id]
        context: dict[str, Any] = {
            "member": member,
            "is_self": is_self,
            "can_change": roles.may(session.role, roles.action_to_change(member.role, None)),
            "roles": role_choices([role for role in ROLES if _may_give(session, member.role, role)]),
            "keys": await self._usable_keys(session, member.id),
            "is_last_owner": member.role == "owner" and not others,
            **await reauthentication_context(self._deps, session),
        }
        return self._views.form(request, "account/member.html", form, error, **context)

    async def change_role(self, request: Request, session: Session, form: Form) -> Response:
        person_id = request.path_params["id"]
        await require_recent(self._deps, session, form)
        role = read_role(form)
        await members.change_role(self._deps.auth, session.actor, person_id, role)
        return redirect(PATH, "role")

    async def remove(self, request: Request, session: Session, form: Form) -> Response:
        person_id = request.path_params["id"]
        await require_recent(self._deps, session, form)
        receiver = parse_id(form.text("keys_to")) if form.text("keys_to") else None
        await members.remove(self._deps.auth, session.actor, person_id, keys_to=receiver)
        return redirect(PATH, "member-removed")

    async def leave(self, _request: Request, session: Session, form: Form) -> Response:
        await require_recent(self._deps, session, form)
        await members.remove(self._deps.auth, session.actor, session.person.id)
        return redirect("/account/accounts", "left")

    async def offer(self, request: Request, session: Session, form: Form) -> Response:
        role_after: Role = "owner" if form.text("role_after") == "owner" else "admin"
        await require_recent(self._deps, session, form)
        await ownership.offer(self._deps.auth, session, request.path_params["id"], role_after=role_after)
        return redirect(PATH, "offered")

    async def accept_offer(self, request: Request) -> Response:
        session, _ = await self._read(request)
        await ownership.accept(self._deps.auth, session)
        return redirect(PATH, "accepted")

    async def withdraw_offer(self, request: Request) -> Response:
        session, _ = await self._read(request)
        await ownership.withdraw(self._deps.auth, session)
        return redirect(PATH, "withdrawn")

    async def _usable_keys(self, session: Session, person_id: UUID) -> list[ApiKey]:
        now = self._deps.auth.clock()
        keys = await accounts.list_keys(self._deps.auth.db, session.account.id)
        return [key for key in keys if key.created_by == person_id and is_usable(key, now)]

    def _person_id(self, request: Request, session: Session) -> UUID:
        """Return the id in the path; of the session's person for a path without one."""
        person_id: UUID = request.path_params.get("id", session.person.id)
        return person_id


_DESCRIPTIONS = {
    "viewer": "views everything",
    "editor": "also creates, changes and deletes links",
    "admin": "also manages domains, webhooks, keys and members",
    "owner": "also manages plan, owners, export and deletion of the account",
}


def read_role(form: Form) -> Role:
    """Raises Invalid."""
    role = form.text("role")
    if role not in ROLES:
        raise Invalid({"role": ["Select a role."]})
    return role


def role_choices(allowed: Sequence[Role]) -> list[tuple[Role, str]]:
    """Return options for a form: (role, name with description)."""
    return [(role, f"{role.capitalize()}: {_DESCRIPTIONS[role]}") for role in allowed]


def _may_give(session: Session, before: Role, after: Role) -> bool:
    return roles.may(session.role, roles.action_to_change(before, after))
