"""Members of the account: list, roles, removal, leaving, and the transfer of ownership."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from waypost import accounts
from waypost.accounts import roles
from waypost.accounts.members import invitations, ownership
from waypost.accounts.members import listing as member_list
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import ROLES, ApiKey, Role
from waypost.accounts.person_pages import PersonPages
from waypost.accounts.sessions.store import Session
from waypost.kit.errors import Invalid, or_not_found
from waypost.kit.ids import parse_id
from waypost.web.dashboard import Form, PageCall, redirect, shows

PATH = "/account/members"
_ONE = f"{PATH}/{{id:uuid}}"
_PER_PAGE = 50
_MAX_SEARCH = 100


class MemberPages(PersonPages):
    def endpoints(self) -> list[Route]:
        show = shows("account/member.html", self._find)
        return [
            self.get(PATH, shows("account/members.html", self._find_all), "view"),
            self.form(f"{PATH}/leave", self.leave, "view", show),
            self.action(f"{PATH}/offer/accept", ownership.accept, "view", PATH, "accepted"),
            self.action(f"{PATH}/offer/withdraw", ownership.withdraw, "view", PATH, "withdrawn"),
            self.get(_ONE, show, "view"),
            self.form(f"{_ONE}/role", self.change_role, "members.write", show),
            self.form(f"{_ONE}/remove", self.remove, "members.write", show),
            self.form(f"{_ONE}/offer", self.offer, "owners.write", show),
        ]

    async def _find_all(self, call: PageCall) -> dict[str, Any]:
        search = call.query("search").strip()[:_MAX_SEARCH].replace("\0", "")
        role = call.query("role")
        role = role if role in ROLES else ""
        pagination = call.pagination(_PER_PAGE)
        async with self._deps.db.read() as tx:
            page = await member_list.list_page(tx, call.session.account.id, pagination, search=search, role=role)
        can_invite = roles.may(call.session.role, "members.write")
        offer = await ownership.find(self._deps, call.session.account.id)
        return {
            "page": page,
            "filters": {"search": search, "role": role},
            "roles": ROLES,
            "invited": await invitations.list_open(self._deps, call.session.account.id) if can_invite else (),
            "is_permitted": invitations.is_permitted,
            "offer": offer if offer and call.person.id in (offer.person_id, offer.offered_by) else None,
        }

    async def _find(self, call: PageCall) -> dict[str, Any]:
        person_id = call.id if "id" in call.request.path_params else call.person.id
        async with self._deps.db.read() as tx:
            member = or_not_found(await member_list.find(tx, call.session.account.id, person_id))
            owners = await memberships.list_owners(tx, call.session.account.id)
        others = [owner for owner in owners if owner.id != member.id]
        return {
            "member": member,
            "is_self": member.id == call.person.id,
            "can_change": roles.may(call.session.role, roles.action_to_change(member.role, None)),
            "roles": role_choices([role for role in ROLES if _may_give(call.session, member.role, role)]),
            "keys": await self._usable_keys(call.session, member.id),
            "is_last_owner": member.role == "owner" and not others,
            **await self._reauthentication(call),
        }

    async def change_role(self, call: PageCall) -> Response:
        await self._require_recent(call)
        await members.change_role(self._deps, call.session.actor, call.id, read_role(call.form))
        return redirect(PATH, "role")

    async def remove(self, call: PageCall) -> Response:
        await self._require_recent(call)
        receiver = parse_id(call.form.text("keys_to")) if call.form.text("keys_to") else None
        await members.remove(self._deps, call.session.actor, call.id, keys_to=receiver)
        return redirect(PATH, "member-removed")

    async def leave(self, call: PageCall) -> Response:
        await self._require_recent(call)
        await members.remove(self._deps, call.session.actor, call.person.id)
        return redirect("/account/accounts", "left")

    async def offer(self, call: PageCall) -> Response:
        role_after: Role = "owner" if call.form.text("role_after") == "owner" else "admin"
        await self._require_recent(call)
        await ownership.offer(self._deps, call.session, call.id, role_after=role_after)
        return redirect(PATH, "offered")

    async def _usable_keys(self, session: Session, person_id: UUID) -> list[ApiKey]:
        now = self._deps.clock()
        keys = await accounts.list_keys(self._deps.db, session.account.id)
        return [key for key in keys if key.created_by == person_id and key.is_usable(now)]


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
