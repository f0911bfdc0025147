"""Every statement on `accounts` and `api_keys`, except the links' own count of themselves."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from waypost.auth.model import Account, ApiKey, KeyHolder, Plan, accounts, api_keys
from waypost.database import PointRead, Tx
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest

ACCOUNT = (
    accounts.c.id,
    accounts.c.email,
    accounts.c.name,
    accounts.c.plan_type,
    accounts.c.plan_status,
    accounts.c.trial_ends_at,
    accounts.c.renews_at,
    accounts.c.created_at,
    accounts.c.updated_at,
    accounts.c.confirmed_at,
)
_KEY = (
    api_keys.c.id,
    api_keys.c.account_id,
    api_keys.c.name,
    api_keys.c.prefix,
    api_keys.c.scopes,
    api_keys.c.last_used_at,
    api_keys.c.expires_at,
    api_keys.c.revoked_at,
    api_keys.c.created_at,
)
_CALLER = (
    select(*ACCOUNT, *_KEY)
    .join_from(api_keys, accounts, api_keys.c.account_id == accounts.c.id)
    .where(api_keys.c.digest == bindparam("digest"), accounts.c.closed_at.is_(None))
)
_NOTE_USE = (
    update(api_keys)
    .where(api_keys.c.id == bindparam("key_id"))
    .where(or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at <= bindparam("stale")))
    .values(last_used_at=bindparam("at"))
)
_BY_CREATION = (api_keys.c.created_at.desc(), api_keys.c.id.desc())


async def add_account(tx: Tx, account: Account, password_hash: str | None) -> None:
    values = {"id": account.id, "email": account.email, "name": account.name, "password_hash": password_hash}
    stamps = {name: getattr(account, name) for name in ("created_at", "updated_at", "confirmed_at")}
    await tx.execute(insert(accounts).values(**values, **stamps, **_plan_values(account.plan)))


async def change_plan(tx: Tx, account_id: UUID, plan: Plan, now: datetime) -> Account | None:
    statement = update(accounts).where(accounts.c.id == account_id).values(updated_at=now, **_plan_values(plan))
    row = (await tx.execute(statement.returning(*ACCOUNT))).one_or_none()
    return None if row is None else account_from(row)


async def account_of(tx: Tx, email: str) -> Account | None:
    row = (await tx.execute(select(*ACCOUNT).where(accounts.c.email == email))).one_or_none()
    return None if row is None else account_from(row)


async def account_with(tx: Tx, account_id: UUID) -> Account | None:
    """None also for one that is closed."""
    found = select(*ACCOUNT).where(accounts.c.id == account_id, accounts.c.closed_at.is_(None))
    row = (await tx.execute(found)).one_or_none()
    return None if row is None else account_from(row)


async def all_accounts(tx: Tx) -> list[Account]:
    newest = select(*ACCOUNT).where(accounts.c.closed_at.is_(None))
    rows = await tx.execute(newest.order_by(accounts.c.created_at.desc(), accounts.c.id.desc()))
    return [account_from(row) for row in rows]


def email_of(account_id: ColumnElement[UUID]) -> ScalarSelect[str]:
    """As an expression for the statement around it."""
    return select(accounts.c.email).where(accounts.c.id == account_id).scalar_subquery()


def all_account_ids() -> Select[UUID]:
    """As an expression for the statement around it; closed accounts included."""
    return select(accounts.c.id)


async def find_email(tx: Tx, account_id: UUID) -> str | None:
    found: str | None = await tx.scalar(select(accounts.c.email).where(accounts.c.id == account_id))
    return found


async def account_id_after(tx: Tx, account_id: UUID) -> UUID | None:
    """The next one in the order of ids; None at the end."""
    found: UUID | None = await tx.scalar(
        select(accounts.c.id).where(accounts.c.id > account_id).order_by(accounts.c.id).limit(1)
    )
    return found


async def lock_account(tx: Tx, account_id: UUID) -> None:
    """It cannot be closed until the transaction ends, and nobody else holds it. Raises NotFound when it is closed.

    Whatever an account gets takes this first, or counts it: what came after the end would stay for ever.
    """
    its = accounts.c.id == account_id, accounts.c.closed_at.is_(None)
    if (await tx.execute(select(accounts.c.id).where(*its).with_for_update(key_share=True))).first() is None:
        raise NotFound


async def with_password(tx: Tx, email: str) -> tuple[Account | None, str | None]:
    """The account, and its password's hash. An account that is closed has neither address nor password."""
    row = (await tx.execute(select(*ACCOUNT, accounts.c.password_hash).where(accounts.c.email == email))).one_or_none()
    return (None, None) if row is None else (account_from(row[:-1]), row[-1])


async def password_of(tx: Tx, account_id: UUID) -> str | None:
    found: str | None = await tx.scalar(select(accounts.c.password_hash).where(accounts.c.id == account_id))
    return found


async def change_password(tx: Tx, account_id: UUID, hashed: str, *, before: str) -> None:
    """Unless it is another by now."""
    is_same = (accounts.c.id == account_id, accounts.c.password_hash == before)
    await tx.execute(update(accounts).where(*is_same).values(password_hash=hashed))


async def change(tx: Tx, account_id: UUID, now: datetime, **values: Any) -> Account | None:
    """Of one that is not closed. Raises IntegrityError for an address that another has."""
    its = (accounts.c.id == account_id, accounts.c.closed_at.is_(None))
    changed = update(accounts).where(*its).values(updated_at=now, **values).returning(*ACCOUNT)
    row = (await tx.execute(changed)).one_or_none()
    return None if row is None else account_from(row)


async def remove_keys(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(api_keys).where(api_keys.c.account_id == account_id))


async def add_key(tx: Tx, key: ApiKey, digest: str) -> None:
    values = {"id": key.id, "account_id": key.account_id, "name": key.name, "prefix": key.prefix, "digest": digest}
    times = {"expires_at": key.expires_at, "created_at": key.created_at}
    await tx.execute(insert(api_keys).values(**values, **times, scopes=list(key.scopes)))


async def revoke(tx: Tx, key_id: UUID, now: datetime) -> ApiKey | None:
    """The key with the moment it was first revoked; revoking twice changes nothing."""
    live = (api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    await tx.execute(update(api_keys).where(*live).values(revoked_at=now))
    row = (await tx.execute(select(*_KEY).where(api_keys.c.id == key_id))).one_or_none()
    return None if row is None else _key(row)


async def revoke_all(tx: Tx, account_id: UUID, now: datetime) -> None:
    live = (api_keys.c.account_id == account_id, api_keys.c.revoked_at.is_(None))
    await tx.execute(update(api_keys).where(*live).values(revoked_at=now))


async def count_usable(tx: Tx, account_id: UUID, now: datetime) -> int:
    return int(await tx.scalar(_counted(account_id).where(_is_usable(now))) or 0)


async def page_of_keys(tx: Tx, account_id: UUID, request: PageRequest, now: datetime) -> tuple[list[ApiKey], int]:
    """(the page's, the number on all pages): first those that can be used, the newest first among each."""
    usable_first = case((_is_usable(now), 0), else_=1)
    its = select(*_KEY).where(api_keys.c.account_id == account_id).order_by(usable_first, *_BY_CREATION)
    rows = await tx.execute(its.offset(request.offset).limit(request.per_page))
    return [_key(row) for row in rows], int(await tx.scalar(_counted(account_id)) or 0)


async def key_of(tx: Tx, account_id: UUID, key_id: UUID) -> ApiKey | None:
    its = api_keys.c.account_id == account_id, api_keys.c.id == key_id
    row = (await tx.execute(select(*_KEY).where(*its))).one_or_none()
    return None if row is None else _key(row)


async def keys_of(tx: Tx, account_id: UUID) -> list[ApiKey]:
    statement = select(*_KEY).where(api_keys.c.account_id == account_id).order_by(*_BY_CREATION)
    return [_key(row) for row in await tx.execute(statement)]


async def caller_with(tx: Tx | PointRead, digest: str) -> KeyHolder | None:
    """Key and account in one go: it stands before every API request."""
    row = (await tx.execute(_CALLER, {"digest": digest})).one_or_none()
    return None if row is None else KeyHolder(account_from(row[: len(ACCOUNT)]), _key(row[len(ACCOUNT) :]))


async def note_uses(tx: Tx, used: Mapping[UUID, datetime], *, at_most_every: timedelta) -> None:
    """Several processes may have seen the same key: the first to write within the time wins."""
    rows = [{"key_id": key_id, "at": at, "stale": at - at_most_every} for key_id, at in used.items()]
    await tx.execute(_NOTE_USE, rows)


def _counted(account_id: UUID) -> Select[int]:
    return select(func.count()).select_from(api_keys).where(api_keys.c.account_id == account_id)


def _is_usable(now: datetime) -> ColumnElement[bool]:
    """As `rules.is_usable` says of one."""
    lasts = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    return and_(api_keys.c.revoked_at.is_(None), lasts)


def _plan_values(plan: Plan) -> dict[str, Any]:
    times = {"trial_ends_at": plan.trial_ends_at, "renews_at": plan.renews_at}
    return {"plan_type": plan.type, "plan_status": plan.status, **times}


def account_from(row: Sequence[Any]) -> Account:
    account_id, email, name, *plan, created_at, updated_at, confirmed_at = row
    return Account(account_id, email, name, Plan(*plan), created_at, updated_at, confirmed_at)


def _key(row: Sequence[Any]) -> ApiKey:
    key_id, account_id, name, prefix, scopes, last_used_at, expires_at, revoked_at, created_at = row
    return ApiKey(key_id, account_id, name, prefix, tuple(scopes), last_used_at, expires_at, revoked_at, created_at)
