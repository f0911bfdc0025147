"""Forms about members of an account that change something, for `test_audit_pages`."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx

from waypost.accounts.members import invitation_store
from waypost.accounts.members import store as memberships
from waypost.accounts.members.invitation_store import OwnershipOffer
from waypost.accounts.model import Person, Role
from waypost.accounts.people import store as people

Send = Callable[[], Awaitable[httpx.Response]]


async def new_member(signed: Any, role: Role) -> UUID:
    """Somebody else in the account."""
    now, id_ = datetime.now(UTC), uuid4()
    async with signed.running.db.write() as tx:
        await people.add(tx, Person(id_, f"{id_}@example.com", "Bea", now, False, now, now), None)
        await memberships.add(tx, signed.account, id_, role, now)
    return id_


async def offer(signed: Any, to: UUID, by: UUID) -> None:
    async with signed.running.db.write() as tx:
        await invitation_store.put_offer(tx, OwnershipOffer(signed.account, to, by, "owner", datetime.now(UTC)))


def of_member(**fields: str) -> Callable[[Any, str], Awaitable[Send]]:
    async def prepare(signed: Any, path: str) -> Send:
        own = path.replace("{id:uuid}", str(await new_member(signed, "viewer")))
        return lambda: signed.post(own, **fields)

    return prepare


async def prepare_leave(signed: Any, path: str) -> Send:
    await new_member(signed, "owner")
    return lambda: signed.post(path)


async def prepare_accept(signed: Any, path: str) -> Send:
    owner = await new_member(signed, "owner")
    async with signed.running.db.write() as tx:
        await memberships.change_role(tx, signed.account, signed.person, "viewer")
    await offer(signed, signed.person, owner)
    return lambda: signed.post(path)


async def prepare_withdraw(signed: Any, path: str) -> Send:
    await offer(signed, await new_member(signed, "viewer"), signed.person)
    return lambda: signed.post(path)


async def prepare_email(signed: Any, path: str) -> Send:
    owner = await new_member(signed, "owner")
    return lambda: signed.post(path, email=f"{owner}@example.com")


def of_invitation(path: str) -> Callable[[Any, str], Awaitable[Send]]:
    async def prepare(signed: Any, _path: str) -> Send:
        invited = await signed.post("/account/members/invite", email=f"{uuid4()}@example.com", role="viewer")
        assert invited.is_success or invited.is_redirect, invited.text
        async with signed.running.db.read() as tx:
            [invitation] = await invitation_store.list_open(tx, signed.account)
        return lambda: signed.post(path.replace("{id}", str(invitation.id)))

    return prepare


def plain(**fields: str) -> Callable[[Any, str], Awaitable[Send]]:
    async def prepare(signed: Any, path: str) -> Send:
        return lambda: signed.post(path, **fields)

    return prepare


_INVITATION = "/account/members/invitations/{id}"
RECIPES: Mapping[str, Callable[[Any, str], Awaitable[Send]]] = {
    "/account/members/invite": plain(email="invited@example.com", role="viewer"),
    f"{_INVITATION}/resend": of_invitation(f"{_INVITATION}/resend"),
    f"{_INVITATION}/revoke": of_invitation(f"{_INVITATION}/revoke"),
    "/account/members/{id:uuid}/role": of_member(role="editor"),
    "/account/members/{id:uuid}/remove": of_member(),
    "/account/members/{id:uuid}/offer": of_member(role_after="owner"),
    "/account/members/offer/accept": prepare_accept,
    "/account/members/offer/withdraw": prepare_withdraw,
    "/account/members/leave": prepare_leave,
    "/account/settings/name": plain(name="Another name"),
    "/account/settings/email": prepare_email,
}
NOT_RECORDED = {
    "/invite/account/{token}": "recorded in the account that the person joins: see `invitations`",
    "/invite/account/{token}/signup": "recorded in the account that the person joins: see `invitations`",
    "/account/accounts": "the log begins with the account",
    "/account/delete-person": "recorded in the accounts that the person leaves; here the person owns the only one",
}
