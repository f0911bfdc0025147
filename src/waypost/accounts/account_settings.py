"""Name and email of an account, as far as it does not follow its owner's (`memberships.follow_owner`)."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from waypost import audit
from waypost.accounts import rules, store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Account, Person
from waypost.accounts.roles import Action
from waypost.accounts.sessions.store import Session
from waypost.database import Tx
from waypost.kit.errors import Conflict, Invalid, or_not_found

NO_OWNER = "This must be the email of an owner of the account."
NAMED_BY_SETTING = (
    "New people join this account by single sign-on, which finds it by its email. Ask your administrator to change it."
)
EMAIL_TAKEN = "Another account has this email."

EMAIL_IN_USE = (
    "The account has the email {}, and the emails of its other owners belong to other accounts. Change the email of the"
    " account first."
)


async def change_name(deps: Deps, session: Session, name: str) -> None:
    """Raises Invalid and Forbidden."""
    name = name.strip()
    if not name:
        raise Invalid({"name": ["Enter a name."]})
    rules.check_email_and_name(session.account.email, name)
    await _change(deps, session, "account.write", name=name)


async def change_email(deps: Deps, session: Session, email: str) -> None:
    """Give the account the email of one of its owners, which is confirmed. Raises Invalid and Forbidden."""
    try:
        await _change(deps, session, "owners.write", email=email)
    except IntegrityError:
        raise Invalid({"email": [EMAIL_TAKEN]}) from None


async def _change(deps: Deps, session: Session, action: Action, **values: str) -> None:
    async with changing_callers(deps.db) as tx:
        await store.lock_account(tx, session.account.id)
        await memberships.require_action(tx, session.actor, action)
        before = or_not_found(await store.find_account(tx, session.account.id))
        await _check_email(deps, tx, before, values.get("email", before.email))
        if changes := audit.compare({name: getattr(before, name) for name in values}, values):
            now = deps.clock()
            await store.change(tx, session.account.id, now, **values)
            await audit.record(tx, session.actor, "account.updated", now, changes=changes)


async def _check_email(deps: Deps, tx: Tx, before: Account, email: str) -> None:
    if email == before.email:
        return
    if before.email == deps.oidc_account:
        raise Invalid({"email": [NAMED_BY_SETTING]})
    if email not in [owner.email for owner in await memberships.list_owners(tx, before.id)]:
        raise Invalid({"email": [NO_OWNER]})


async def move_email(
    deps: Deps, tx: Tx, account_id: UUID, former: Person, owners: Sequence[Person], *, is_removed: bool
) -> None:
    """Give the account the email of one of `owners` if it has that of an owner who no longer is one.

    If other accounts have these emails, it keeps its email, unless the person leaves: notices of the account must not
    go to who is not a member. Then raises Conflict. The account of the setting for single sign-on always keeps it.
    """
    account = or_not_found(await store.find_account(tx, account_id))
    if account.email != former.email or account.email == deps.oidc_account:
        return
    for owner in owners:
        if await store.find_by_email(tx, owner.email) is None:
            await store.change(tx, account_id, deps.clock(), email=owner.email)
            return
    if is_removed:
        raise Conflict({"body": [EMAIL_IN_USE.format(account.email)]})
