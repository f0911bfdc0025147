"""Name and email of an account, as far as it does not follow its owner's (`memberships.follow_owner`)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from waypost.auth import store
from waypost.auth.model import Person
from waypost.database import Tx
from waypost.kit.errors import Conflict, or_not_found

EMAIL_IN_USE = (
    "The account has the email {}, and the emails of its other owners belong to other accounts. Change the email of the"
    " account first."
)


async def move_email(
    tx: Tx, account_id: UUID, former: Person, owners: Sequence[Person], *, is_leaving: bool, now: datetime
) -> None:
    """Give the account the email of one of `owners` if it has that of an owner who no longer is one.

    If other accounts have these emails, it keeps its email, unless the person leaves: notices of the account must not
    go to who is not a member. Then raises Conflict.
    """
    account = or_not_found(await store.find_account(tx, account_id))
    if account.email != former.email:
        return
    for owner in owners:
        if await store.find_by_email(tx, owner.email) is None:
            await store.change(tx, account_id, now, email=owner.email)
            return
    if is_leaving:
        raise Conflict({"body": [EMAIL_IN_USE.format(account.email)]})
