"""The verbs of accounts and API keys. A change of a caller's permissions invalidates the caller caches."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from waypost.auth import keys, passkeys, past_addresses, rules, sessions, store, tokens
from waypost.auth.caller_cache import invalidating_callers
from waypost.auth.deps import Deps
from waypost.auth.model import SCOPES, Account, ApiKey, PlanChoice, accounts
from waypost.database import Database, Tx
from waypost.kit.errors import Conflict, Invalid, NotFound, or_not_found
from waypost.kit.ids import new_id
from waypost.kit.pagination import Page, PageRequest

TOO_MANY_KEYS = "An account can have at most {} usable keys. Revoke one that you no longer need."


async def create_account(
    db: Database,
    *,
    email: str,
    name: str,
    plan: PlanChoice,
    now: datetime,
    trial_days: int,
    password_hash: str | None = None,
) -> Account:
    email = email.strip().lower()
    rules.check_account(email, name)
    chosen = rules.chosen_plan(plan, now=now, trial_ends_at=None, trial_days=trial_days)
    account = Account(new_id(), email, name, chosen, now, now, now)
    try:
        async with db.write() as tx:
            await store.add_account(tx, account, password_hash)
    except IntegrityError:
        raise Conflict({"email": ["An account with this email already exists."]}) from None
    return account


async def set_plan(
    db: Database,
    account_id: UUID,
    plan: PlanChoice,
    *,
    now: datetime,
    trial_days: int,
    trial_ends_at: datetime | None = None,
) -> Account:
    chosen = rules.chosen_plan(plan, now=now, trial_ends_at=trial_ends_at, trial_days=trial_days)
    with invalidating_callers(db):
        async with db.write() as tx:
            return or_not_found(await store.change_plan(tx, account_id, chosen, now))


async def find_account(db: Database, email: str) -> Account:
    async with db.read() as tx:
        return or_not_found(await store.find_by_email(tx, email.strip().lower()))


async def list_accounts(db: Database) -> list[Account]:
    async with db.read() as tx:
        return await store.list_accounts(tx)


async def create_key(
    db: Database,
    *,
    account_id: UUID,
    name: str,
    scopes: Sequence[str],
    now: datetime,
    expires_at: datetime | None = None,
    at_most: int | None = None,
    session: sessions.Session | None = None,
) -> tuple[ApiKey, str]:
    """Returns the key and its text, which cannot be read again. No scopes: all of them.

    `at_most`: usable keys of the account, this one included. Raises NotFound for a closed account, and when `session`
    has ended: a concurrent removal of all keys would have missed this one.
    """
    rules.check_key(name, scopes, expires_at, now)
    text = keys.generate()
    granted = tuple(scope for scope in SCOPES if not scopes or scope in scopes)
    key = ApiKey(new_id(), account_id, name, text[: keys.PREFIX_LENGTH], granted, None, expires_at, None, now)
    async with db.write() as tx:
        await store.lock_account(tx, account_id)
        if session is not None and not await sessions.is_active(tx, session):
            raise NotFound
        if at_most is not None and await store.count_usable_keys(tx, account_id, now) >= at_most:
            raise Invalid({"name": [TOO_MANY_KEYS.format(at_most)]})
        await store.add_key(tx, key, keys.digest(text))
    return key, text


async def revoke_key(db: Database, key_id: UUID, *, now: datetime) -> ApiKey:
    with invalidating_callers(db):
        async with db.write() as tx:
            return or_not_found(await store.revoke_key(tx, key_id, now))


async def browse_keys(db: Database, account_id: UUID, request: PageRequest, *, now: datetime) -> Page[ApiKey]:
    """Usable keys first, the newest first among each."""
    async with db.read() as tx:
        found, total = await store.browse_keys(tx, account_id, request, now)
    return Page(found, total, request)


async def find_key(db: Database, account_id: UUID, key_id: UUID) -> ApiKey:
    async with db.read() as tx:
        return or_not_found(await store.find_key(tx, account_id, key_id))


async def list_keys(db: Database, account_id: UUID) -> list[ApiKey]:
    """Newest first, revoked and expired ones included."""
    async with db.read() as tx:
        return await store.list_keys(tx, account_id)


async def close_account(deps: Deps, tx: Tx, account_id: UUID) -> None:
    """An anonymous row stays until the account is deleted.

    Use inside `invalidating_callers`. Raises NotFound when it is closed already.
    """
    now = deps.clock()
    anonymous = {"email": f"{account_id}@closed.invalid", "name": "", "password_hash": None, "confirmed_at": None}
    before = or_not_found(await store.find_account(tx, account_id))
    or_not_found(await store.change(tx, account_id, now, closed_at=now, **anonymous))
    await past_addresses.remember(tx, deps.address_keys, before, now)
    await store.remove_keys(tx, account_id)
    await passkeys.remove_all(tx, account_id)
    await tokens.delete_all(tx, account_id)
    await sessions.end_all(tx, account_id)


async def delete_account_row(tx: Tx, account_id: UUID) -> None:
    """Rows that refer to it and cascade go with it."""
    await tx.execute(delete(accounts).where(accounts.c.id == account_id))
