"""What an account requires of the sign-ins of its members. API keys are not affected."""

from waypost import audit
from waypost.accounts import store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.members import store as memberships
from waypost.accounts.model import REQUIRED_FACTORS, RequiredFactor
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import Session
from waypost.kit.errors import Invalid, or_not_found

NOT_MET = {
    "second_factor": "Set up two-factor authentication for your own sign-in first, or sign in with a passkey.",
    "passkey": "Sign in with a passkey yourself first.",
}
UNKNOWN = "This must be one of: {}."


async def find(deps: Deps, session: Session) -> RequiredFactor:
    async with deps.db.read() as tx:
        return await store.find_required_factor(tx, session.account.id)


async def change(deps: Deps, session: Session, text: str) -> None:
    """Set the requirement, which holds from the members' next request.

    Raises Invalid if the session itself lacks it, and Forbidden if the caller is no longer an owner.
    """
    if text not in REQUIRED_FACTORS:
        raise Invalid({"required_factor": [UNKNOWN.format(", ".join(REQUIRED_FACTORS))]})
    factor: RequiredFactor = text
    async with deps.db.write() as tx:
        await store.lock_account(tx, session.account.id)
        await memberships.require_action(tx, session.actor, "security.write")
        if not await sessions.meets(tx, session, factor):
            raise Invalid({"required_factor": [NOT_MET[factor]]})
        before = await store.find_required_factor(tx, session.account.id)
        or_not_found(await store.change(tx, session.account.id, deps.clock(), required_factor=factor))
        if changes := audit.compare({"required_factor": before}, {"required_factor": factor}):
            await audit.record(tx, session.actor, "sign_in_rules.updated", deps.clock(), changes=changes)
