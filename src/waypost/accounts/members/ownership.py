"""Transfer of an account to another owner: offered by one, accepted or declined by the other within 7 days."""

from datetime import timedelta
from uuid import UUID

from waypost import audit
from waypost.accounts import emails, store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import invitation_store
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.members.invitation_store import OwnershipOffer
from waypost.accounts.model import Role
from waypost.accounts.sessions.store import Session
from waypost.database import Tx
from waypost.kit.errors import Conflict, NotFound, or_not_found

LIFETIME = timedelta(days=7)
IS_OWNER = "This member is already an owner."


async def offer(deps: Deps, session: Session, person_id: UUID, *, role_after: Role) -> None:
    """Offer the ownership to a member. `role_after`: of who offers it, once it is accepted.

    Replaces an earlier offer. Raises NotFound, Forbidden and Conflict.
    """
    account, now = session.account, deps.clock()
    async with deps.db.write() as tx:
        await store.lock_account(tx, account.id)
        await memberships.require_action(tx, session.actor, "owners.write")
        member = or_not_found(await memberships.find_member(tx, account.id, person_id))
        if member.role == "owner":
            raise Conflict({"body": [IS_OWNER]})
        await invitation_store.put_offer(tx, OwnershipOffer(account.id, person_id, session.person.id, role_after, now))
        item = audit.Item(member.person.id, member.person.email)
        await audit.record(tx, session.actor, "ownership.offered", now, item)
        message = emails.ownership_offered(deps.base_url, account.name, session.person.email)
        await emails.notify(tx, message, member.person, now=now)


async def find(deps: Deps, account_id: UUID) -> OwnershipOffer | None:
    """Return the account's open offer."""
    async with deps.db.read() as tx:
        return await _find(deps, tx, account_id)


async def accept(deps: Deps, session: Session) -> None:
    """Become an owner. Raises NotFound if there is no offer, also if who made it is no longer an owner."""
    account_id, person_id = session.account.id, session.person.id
    async with changing_callers(deps.db) as tx:
        await store.lock_account(tx, account_id)
        found = await _find(deps, tx, account_id)
        if found is None or found.person_id != person_id:
            raise NotFound
        member = or_not_found(await memberships.find_member(tx, account_id, person_id))
        former = or_not_found(await memberships.find_member(tx, account_id, found.offered_by))
        await invitation_store.delete_offer(tx, account_id)
        await members.set_role(deps, tx, session.actor, member, "owner")
        if found.role_after != "owner":
            await members.set_role(deps, tx, session.actor, former, found.role_after)


async def withdraw(deps: Deps, session: Session) -> None:
    """Decline an offer, or take it back. Raises NotFound."""
    async with deps.db.write() as tx:
        await store.lock_account(tx, session.account.id)
        found = await invitation_store.find_offer(tx, session.account.id, after=deps.clock() - LIFETIME)
        if found is None or session.person.id not in (found.person_id, found.offered_by):
            raise NotFound
        await invitation_store.delete_offer(tx, session.account.id)
        await audit.record(tx, session.actor, "ownership.offer_ended", deps.clock())


async def _find(deps: Deps, tx: Tx, account_id: UUID) -> OwnershipOffer | None:
    found = await invitation_store.find_offer(tx, account_id, after=deps.clock() - LIFETIME)
    if found is None or await memberships.find(tx, account_id, found.offered_by) != "owner":
        return None
    return found if await memberships.find(tx, account_id, found.person_id) else None
