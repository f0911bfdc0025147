"""Creates, changes and lists accounts and API keys. A change of permissions invalidates the caller caches."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from waypost import audit, mail
from waypost.accounts import roles, rules, store
from waypost.accounts.auth_deps import Deps
from waypost.accounts.keys import format as key_format
from waypost.accounts.keys import store as key_store
from waypost.accounts.keys.caller_cache import changing_callers
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Account, ApiKey, Person, Plan, PlanChoice, accounts
from waypost.accounts.people import past_emails
from waypost.accounts.people import store as people
from waypost.accounts.roles import SCOPES
from waypost.accounts.sessions import store as sessions
from waypost.audit import Actor, Item
from waypost.database import Database, Tx
from waypost.kit.errors import Conflict, Forbidden, Invalid, NotFound, or_not_found
from waypost.kit.ids import new_id

ACCOUNT_EXISTS = "An account with this email already exists."
HAS_PASSWORD = "A person with this email already signs in with their own password. Leave out the password."  # noqa: S105
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
    new_actor: Callable[[UUID], Actor] | None = None,
) -> Account:
    """Create an account that the person with this email owns; a new person if there is none.

    `new_actor`: who is recorded. Without, the audit log of the account begins later.

    Raises Conflict if an account has the email, and if `password_hash` is given for a person who exists.
    """
    email = rules.normalize_email(email)
    rules.check_email_and_name(email, name)
    initial_plan = rules.build_plan(plan, now=now, trial_ends_at=None, trial_days=trial_days)
    try:
        async with db.write() as tx:
            owner = await people.find_by_email(tx, email)
            if owner is None:
                owner = Person(new_id(), email, name, now, False, now, now)
                await people.add(tx, owner, password_hash)
            elif password_hash is not None:
                raise Conflict({"email": [HAS_PASSWORD]})
            owner = replace(owner, name=name, updated_at=now)
            account = await add_account(tx, owner, initial_plan, account_id=account_id)
            if new_actor:
                item = Item(account.id, account.email)
                await audit.record(tx, new_actor(account.id), "account.created", now, item)
            return account
    except IntegrityError:
        raise Conflict({"email": [ACCOUNT_EXISTS]}) from None


async def add_account(tx: Tx, owner: Person, plan: Plan, *, account_id: UUID | None = None) -> Account:
    """Add an account with the owner's name and email, which it follows. Raises IntegrityError if another has them."""
    now = owner.updated_at
    account = Account(account_id or new_id(), owner.email, owner.name, plan, now, now)
    await store.add_account(tx, account)
    await memberships.add(tx, account.id, owner.id, "owner", now)
    return account


async def set_plan(
    db: Database,
    account_id: UUID,
    plan: PlanChoice,
    *,
    now: datetime,
    trial_days: int,
    trial_ends_at: datetime | None = None,
    actor: Actor | None = None,
) -> Account:
    """`actor`: by default the command."""
    new_plan = rules.build_plan(plan, now=now, trial_ends_at=trial_ends_at, trial_days=trial_days)
    async with changing_callers(db) as tx:
        before = or_not_found(await store.find_account(tx, account_id))
        if changes := audit.compare(before.plan, new_plan):
            actor = actor or Actor.command(account_id, "waypost account plan")
            await audit.record(tx, actor, "plan.updated", now, changes=changes)
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
    created_by: UUID | None = None,
) -> tuple[ApiKey, str]:
    """Return the key and its text, which cannot be read again. Without scopes the key has all of them.

    `max_usable`: usable keys of the account, this one included. `session`: of the person who makes the key; otherwise a
    command does, for `created_by`. Raises NotFound if the account is deleted, or if `session` has ended: a concurrent
    removal of all keys would have missed this one. Raises Forbidden if the person's role no longer allows it.
    """
    rules.check_key(name, scopes, expires_at, now)
    granted = tuple(scope for scope in SCOPES if not scopes or scope in scopes)
    maker = session.person.id if session else created_by
    async with db.write() as tx:
        await store.lock_account(tx, account_id)
        if session is not None:
            await people.lock(tx, session.person.id)  # a removal of all keys comes before or after
            if not await sessions.is_active(tx, session):
                raise NotFound
            role = await memberships.find(tx, account_id, session.person.id)
            if role is None or not roles.may(role, "keys.write"):  # lowered or removed during the request
                raise Forbidden(roles.NOT_ALLOWED_NOW)
        if max_usable is not None and await key_store.count_usable_keys(tx, account_id, now) >= max_usable:
            raise Invalid({"name": [TOO_MANY_KEYS.format(max_usable)]})
        actor = session.actor if session else Actor.command(account_id, "waypost key create")
        return await add_key(tx, actor, name, granted, now, expires_at=expires_at, created_by=maker)


async def add_key(
    tx: Tx,
    actor: Actor,
    name: str,
    scopes: tuple[str, ...],
    now: datetime,
    *,
    expires_at: datetime | None = None,
    created_by: UUID | None,
) -> tuple[ApiKey, str]:
    """Add a key to the actor's account. Return it with its text."""
    text = key_format.generate()
    prefix = text[: key_format.PREFIX_LENGTH]
    key = ApiKey(new_id(), actor.account_id, name, prefix, scopes, created_by, None, expires_at, None, now)
    await key_store.add_key(tx, key, key_format.digest(text))
    details = {"scopes": list(scopes), "expires_at": audit.plain(expires_at)}
    await audit.record(tx, actor, "key.created", now, Item(key.id, key.name), details=details)
    return key, text


async def revoke_key(db: Database, key_id: UUID, *, now: datetime, session: sessions.Session | None = None) -> ApiKey:
    """`session`: of the person who revokes the key; otherwise a command does. Raises NotFound."""
    async with changing_callers(db) as tx:
        key, is_new = or_not_found(await key_store.revoke_key(tx, key_id, now))
        if is_new:
            actor = session.actor if session else Actor.command(key.account_id, "waypost key revoke")
            await audit.record(tx, actor, "key.revoked", now, Item(key.id, key.name))
        return key


async def get_key(db: Database, account_id: UUID, key_id: UUID) -> ApiKey:
    async with db.read() as tx:
        return or_not_found(await key_store.find_key(tx, account_id, key_id))


async def list_keys(db: Database, account_id: UUID) -> list[ApiKey]:
    """List all keys, newest first, revoked and expired ones included."""
    async with db.read() as tx:
        return await key_store.list_keys(tx, account_id)


async def get_person(db: Database, email: str) -> Person:
    """Raises NotFound."""
    async with db.read() as tx:
        return or_not_found(await people.find_by_email(tx, rules.normalize_email(email)))


async def mark_account_deleted(deps: Deps, tx: Tx, account_id: UUID) -> None:
    """Delete keys and members, and make the row anonymous. `delete_account_row` deletes it.

    People who are members of no other account are deleted. Call it in `changing_callers`. Raises NotFound if
    the account is already deleted.
    """
    now = deps.clock()
    before = or_not_found(await store.find_account(tx, account_id))
    or_not_found(
        await store.change(tx, account_id, now, deleted_at=now, email=f"{account_id}@deleted.invalid", name="")
    )
    owner = await people.find_by_email(tx, before.email)
    if owner:
        await past_emails.record(tx, deps.email_digest_keys, owner, before.plan.trial_ends_at, now)
    await key_store.delete_keys(tx, account_id)
    await _delete_members(tx, account_id)


async def delete_account_row(tx: Tx, account_id: UUID) -> None:
    """Delete the row, and by cascade those that refer to it."""
    await _delete_members(tx, account_id)
    await tx.execute(delete(accounts).where(accounts.c.id == account_id))


async def _delete_members(tx: Tx, account_id: UUID) -> None:
    for person_id in await people.delete_members_of(tx, account_id):
        await mail.delete_unsent(tx, person_id)
    await memberships.delete_all(tx, account_id)
