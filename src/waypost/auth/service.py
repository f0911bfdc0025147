"""Creates, changes and lists accounts and API keys. A change of permissions invalidates the caller caches."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from waypost.auth import key_format, passkeys, past_emails, rules, sessions, store, tokens
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
    account_id: UUID | None = None,
) -> Account:
    email = rules.normalize_email(email)
    rules.check_account(email, name)
    initial_plan = rules.build_plan(plan, now=now, trial_ends_at=None, trial_days=trial_days)
    account = Account(account_id or new_id(), email, name, initial_plan, now, now, now)
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
    new_plan = rules.build_plan(plan, now=now, trial_ends_at=trial_ends_at, trial_days=trial_days)
    with invalidating_callers(db):
        async with db.write() as tx:
            return or_not_found(await store.change_plan(tx, account_id, new_plan, now))


async def get_account(db: Database, email: str) -> Account:
    async with db.read() as tx:
        return or_not_found(await store.find_by_email(tx, rules.normalize_email(email)))


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
    max_usable: int | None = None,
    session: sessions.Session | None = None,
) -> tuple[ApiKey, str]:
    """Return the key and its text, which cannot be read again. Without scopes the key has all of them.

    `max_usable`: usable keys of the account, this one included. Raises NotFound if the account is deleted, or if
    `session` has ended: a concurrent removal of all keys would have missed this one.
    """
    rules.check_key(name, scopes, expires_at, now)
    text = key_format.generate()
    granted = tuple(scope for scope in SCOPES if not scopes or scope in scopes)
    key = ApiKey(new_id(), account_id, name, text[: key_format.PREFIX_LENGTH], granted, None, expires_at, None, now)
    async with db.write() as tx:
        await store.lock_account(tx, account_id)
        if session is not None and not await sessions.is_active(tx, session):
            raise NotFound
        if max_usable is not None and await store.count_usable_keys(tx, account_id, now) >= max_usable:
            raise Invalid({"name": [TOO_MANY_KEYS.format(max_usable)]})
        await store.add_key(tx, key, key_format.digest(text))
    return key, text


async def revoke_key(db: Database, key_id: UUID, *, now: datetime) -> ApiKey:
    with invalidating_callers(db):
        async with db.write() as tx:
            return or_not_found(await store.revoke_key(tx, key_id, now))


async def list_keys_page(db: Database, account_id: UUID, request: PageRequest, *, now: datetime) -> Page[ApiKey]:
    """List usable keys first, then by age, newest first."""
    async with db.read() as tx:
        keys, total = await store.list_keys_page(tx, account_id, request, now)
    return Page(keys, total, request)


async def get_key(db: Database, account_id: UUID, key_id: UUID) -> ApiKey:
    async with db.read() as tx:
        return or_not_found(await store.find_key(tx, account_id, key_id))


async def list_keys(db: Database, account_id: UUID) -> list[ApiKey]:
    """List all keys, newest first, revoked and expired ones included."""
    async with db.read() as tx:
        return await store.list_keys(tx, account_id)


async def mark_account_deleted(deps: Deps, tx: Tx, account_id: UUID) -> None:
    """Delete credentials and sessions, and make the row anonymous. `delete_account_row` deletes it.

    Call it inside `invalidating_callers`. Raises NotFound if the account is already deleted.
    """
    now = deps.clock()
    anonymous = {"email": f"{account_id}@deleted.invalid", "name": "", "password_hash": None, "confirmed_at": None}
    before = or_not_found(await store.find_account(tx, account_id))
    or_not_found(await store.change(tx, account_id, now, deleted_at=now, **anonymous))
    await past_emails.record(tx, deps.email_digest_keys, before, now)
    await store.delete_keys(tx, account_id)
    await passkeys.delete_all(tx, account_id)
    await tokens.delete_all(tx, account_id)
    await sessions.end_all(tx, account_id)


async def delete_account_row(tx: Tx, account_id: UUID) -> None:
    """Delete the row, and by cascade those that refer to it."""
    await tx.execute(delete(accounts).where(accounts.c.id == account_id))
