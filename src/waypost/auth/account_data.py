"""Closes an account: sign-in and keys stop working, and an anonymous row stays until the account is deleted."""

from uuid import UUID

from sqlalchemy import delete

from waypost.auth import passkeys, past_addresses, sessions, store, tokens
from waypost.auth.deps import Deps
from waypost.auth.model import accounts
from waypost.database import Tx
from waypost.kit.errors import NotFound


async def close_account(deps: Deps, tx: Tx, account_id: UUID) -> None:
    """Use inside `invalidating_callers`. Raises NotFound when it is closed already."""
    now = deps.clock()
    anonymous = {"email": f"{account_id}@closed.invalid", "name": "", "password_hash": None, "confirmed_at": None}
    before = await store.find_account(tx, account_id)
    if before is None or await store.change(tx, account_id, now, closed_at=now, **anonymous) is None:
        raise NotFound
    await past_addresses.remember(tx, deps.address_keys, before, now)
    await store.remove_keys(tx, account_id)
    await passkeys.remove_all(tx, account_id)
    await tokens.delete_all(tx, account_id)
    await sessions.end_all(tx, account_id)


async def delete_account_row(tx: Tx, account_id: UUID) -> None:
    """Rows that refer to it and cascade go with it."""
    await tx.execute(delete(accounts).where(accounts.c.id == account_id))
