"""Every statement on `accounts` and `api_keys`."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    Column,
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

from waypost.auth.model import Account, ApiCaller, ApiKey, Plan, accounts, api_keys
from waypost.database import PointRead, Tx
from waypost.kit.errors import NotFound
from waypost.kit.pagination import PageRequest

_A, _K = accounts.c, api_keys.c
_PLAN: tuple[Column[Any], ...] = (_A.plan_type, _A.plan_status, _A.trial_ends_at, _A.renews_at)
ACCOUNT: tuple[Column[Any], ...] = (_A.id, _A.email, _A.name, *_PLAN, _A.created_at, _A.updated_at, _A.confirmed_at)
_KEY = tuple(_K[name] for name in ApiKey.__dataclass_fields__)
_FIND_API_CALLER = (
    select(*ACCOUNT, *_KEY)
    .join_from(api_keys, accounts, _K.account_id == _A.id)
    .where(_K.digest == bindparam("digest"), _A.closed_at.is_(None))
)
_RECORD_USE = (
    update(api_keys)
    .where(_K.id == bindparam("key_id"))
    .where(or_(_K.last_used_at.is_(None), _K.last_used_at <= bindparam("stale")))
    .values(last_used_at=bindparam("at"))
)
_NEWEST_FIRST = _K.created_at.desc(), _K.id.desc()


async def add_account(tx: Tx, account: Account, password_hash: str | None) -> None:
    values = {"id": account.id, "email": account.email, "name": account.name, "password_hash": password_hash}
    times = {name: getattr(account, name) for name in ("created_at", "updated_at", "confirmed_at")}
    await tx.execute(insert(accounts).values(**values, **times, **_plan_values(account.plan)))


async def find_by_email(tx: Tx, email: str) -> Account | None:
    return _account((await tx.execute(select(*ACCOUNT).where(_A.email == email))).one_or_none())


async def find_account(tx: Tx, account_id: UUID) -> Account | None:
    """None also for a closed one."""
    return _account((await tx.execute(select(*ACCOUNT).where(*_is_open(account_id)))).one_or_none())


async def list_accounts(tx: Tx) -> list[Account]:
    open_accounts = select(*ACCOUNT).where(_A.closed_at.is_(None))
    rows = await tx.execute(open_accounts.order_by(_A.created_at.desc(), _A.id.desc()))
    return [account_from(row) for row in rows]


def email_of(account_id: ColumnElement[UUID]) -> ScalarSelect[str]:
    """As an expression for the statement around it."""
    return select(_A.email).where(_A.id == account_id).scalar_subquery()


def all_account_ids() -> Select[UUID]:
    """As an expression for the statement around it; closed accounts included."""
    return select(_A.id)


async def find_email(tx: Tx, account_id: UUID) -> str | None:
    found: str | None = await tx.scalar(select(_A.email).where(_A.id == account_id))
    return found


async def account_id_after(tx: Tx, account_id: UUID) -> UUID | None:
    """The next one in the order of ids; None at the end."""
    found: UUID | None = await tx.scalar(select(_A.id).where(_A.id > account_id).order_by(_A.id).limit(1))
    return found


async def lock_account(tx: Tx, account_id: UUID) -> None:
    """Until the transaction ends nobody can close it, and nobody else has the lock. Raises NotFound when it is closed.

    Whatever adds something to an account locks it, or counts it there: what a closed account got would stay forever.
    """
    locked = select(_A.id).where(*_is_open(account_id)).with_for_update(key_share=True)
    if (await tx.execute(locked)).first() is None:
        raise NotFound


async def find_with_password(tx: Tx, email: str) -> tuple[Account | None, str | None]:
    """(account, password hash). A closed account has neither email nor password."""
    row = (await tx.execute(select(*ACCOUNT, _A.password_hash).where(_A.email == email))).one_or_none()
    return (None, None) if row is None else (account_from(row[:-1]), row[-1])


async def find_password_hash(tx: Tx, account_id: UUID) -> str | None:
    found: str | None = await tx.scalar(select(_A.password_hash).where(_A.id == account_id))
    return found


async def replace_password_hash(tx: Tx, account_id: UUID, hashed: str, *, before: str) -> None:
    """Only while it is still `before`."""
    is_same = _A.id == account_id, _A.password_hash == before
    await tx.execute(update(accounts).where(*is_same).values(password_hash=hashed))


async def change(tx: Tx, account_id: UUID, now: datetime, **values: Any) -> Account | None:
    """None for a closed account. Raises IntegrityError for an email that another account has."""
    changed = update(accounts).where(*_is_open(account_id)).values(updated_at=now, **values)
    return _account((await tx.execute(changed.returning(*ACCOUNT))).one_or_none())


async def change_plan(tx: Tx, account_id: UUID, plan: Plan, now: datetime) -> Account | None:
    changed = update(accounts).where(_A.id == account_id).values(updated_at=now, **_plan_values(plan))
    return _account((await tx.execute(changed.returning(*ACCOUNT))).one_or_none())


# what an account uses: links count it in their transactions


def links_count_of(account_id: UUID | ColumnElement[UUID] | BindParameter[UUID]) -> ScalarSelect[int]:
    """As an expression for the statement around it."""
    return select(_A.links_count).where(_A.id == account_id).scalar_subquery()


async def count_links(tx: Tx, account_id: UUID) -> int:
    return await tx.scalar(select(_A.links_count).where(_A.id == account_id)) or 0


async def adjust_links_count(tx: Tx, account_id: UUID, difference: int) -> bool:
    """False for a closed account."""
    adjusted = update(accounts).where(*_is_open(account_id)).values(links_count=_A.links_count + difference)
    return (await tx.execute(adjusted)).rowcount > 0


async def image_bytes(tx: Tx | PointRead, account_id: UUID) -> int:
    row = (await tx.execute(select(_A.image_bytes).where(_A.id == account_id))).one_or_none()
    return row.image_bytes if row else 0


async def adjust_image_bytes(tx: Tx, account_id: UUID, difference: int, *, limit: int) -> bool:
    """False when the total would exceed `limit`; two uploads at the same time cannot both pass it.

    The account's row comes last in a transaction: others that hold links or domains wait for it.
    """
    if difference == 0:
        return True
    allowed = _A.id == account_id
    if difference > 0:
        allowed &= _A.image_bytes + difference <= limit
    adjusted = update(accounts).where(allowed).values(image_bytes=_A.image_bytes + difference)
    return (await tx.execute(adjusted)).rowcount > 0


async def add_key(tx: Tx, key: ApiKey, digest: str) -> None:
    values = {"id": key.id, "account_id": key.account_id, "name": key.name, "prefix": key.prefix, "digest": digest}
    times = {"expires_at": key.expires_at, "created_at": key.created_at}
    await tx.execute(insert(api_keys).values(**values, **times, scopes=list(key.scopes)))


async def revoke_key(tx: Tx, key_id: UUID, now: datetime) -> ApiKey | None:
    """With the time it was first revoked: revoking it again changes nothing."""
    await tx.execute(update(api_keys).where(_K.id == key_id, _K.revoked_at.is_(None)).values(revoked_at=now))
    return _key((await tx.execute(select(*_KEY).where(_K.id == key_id))).one_or_none())


async def revoke_all_keys(tx: Tx, account_id: UUID, now: datetime) -> None:
    valid = _K.account_id == account_id, _K.revoked_at.is_(None)
    await tx.execute(update(api_keys).where(*valid).values(revoked_at=now))


async def remove_keys(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(api_keys).where(_K.account_id == account_id))


async def count_usable_keys(tx: Tx, account_id: UUID, now: datetime) -> int:
    return int(await tx.scalar(_count_keys(account_id).where(_is_usable(now))) or 0)


async def browse_keys(tx: Tx, account_id: UUID, request: PageRequest, now: datetime) -> tuple[list[ApiKey], int]:
    """(keys of the page, number of all keys): usable keys first, the newest first among each."""
    usable_first = case((_is_usable(now), 0), else_=1)
    keys = select(*_KEY).where(_K.account_id == account_id).order_by(usable_first, *_NEWEST_FIRST)
    rows = await tx.execute(keys.offset(request.offset).limit(request.per_page))
    return [_key_from(row) for row in rows], int(await tx.scalar(_count_keys(account_id)) or 0)


async def find_key(tx: Tx, account_id: UUID, key_id: UUID) -> ApiKey | None:
    found = select(*_KEY).where(_K.account_id == account_id, _K.id == key_id)
    return _key((await tx.execute(found)).one_or_none())


async def list_keys(tx: Tx, account_id: UUID) -> list[ApiKey]:
    """Newest first, revoked and expired ones included."""
    rows = await tx.execute(select(*_KEY).where(_K.account_id == account_id).order_by(*_NEWEST_FIRST))
    return [_key_from(row) for row in rows]


async def find_api_caller(tx: Tx | PointRead, digest: str) -> ApiCaller | None:
    """Key and account in one statement: every API request runs it."""
    row = (await tx.execute(_FIND_API_CALLER, {"digest": digest})).one_or_none()
    return None if row is None else ApiCaller(account_from(row[: len(ACCOUNT)]), _key_from(row[len(ACCOUNT) :]))


async def record_uses(tx: Tx, uses: Mapping[UUID, datetime], *, at_most_every: timedelta) -> None:
    """Several processes may have seen the same key: within the interval the first to write wins."""
    rows = [{"key_id": key_id, "at": at, "stale": at - at_most_every} for key_id, at in uses.items()]
    await tx.execute(_RECORD_USE, rows)


def account_from(row: Sequence[Any]) -> Account:
    account_id, email, name, *plan, created_at, updated_at, confirmed_at = row
    return Account(account_id, email, name, Plan(*plan), created_at, updated_at, confirmed_at)


def _account(row: Sequence[Any] | None) -> Account | None:
    return None if row is None else account_from(row)


def _key(row: Sequence[Any] | None) -> ApiKey | None:
    return None if row is None else _key_from(row)


def _key_from(row: Sequence[Any]) -> ApiKey:
    key_id, account_id, name, prefix, scopes, *times = row
    return ApiKey(key_id, account_id, name, prefix, tuple(scopes), *times)


def _is_open(account_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return _A.id == account_id, _A.closed_at.is_(None)


def _count_keys(account_id: UUID) -> Select[int]:
    return select(func.count()).select_from(api_keys).where(_K.account_id == account_id)


def _is_usable(now: datetime) -> ColumnElement[bool]:
    """`rules.is_usable` as SQL."""
    return and_(_K.revoked_at.is_(None), or_(_K.expires_at.is_(None), _K.expires_at > now))


def _plan_values(plan: Plan) -> dict[str, Any]:
    times = {"trial_ends_at": plan.trial_ends_at, "renews_at": plan.renews_at}
    return {"plan_type": plan.type, "plan_status": plan.status, **times}
